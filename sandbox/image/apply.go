package image

import (
	"slices"

	"github.com/greenwright/greenwright/sandbox"
)

// Apply makes a sandbox show the image. What the Spec sets itself goes before
// what the image says.
func (i *Image) Apply(spec *sandbox.Spec) {
	spec.Root = i.Root
	spec.Env = slices.Concat(i.Env, spec.Env)
	spec.Path = slices.Concat(spec.Path, i.Path)
}
