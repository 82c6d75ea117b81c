package cgroup

import "path/filepath"

// BareV2 is a group of version 2 without controllers, for machines whose
// controllers are all in use by version 1: it has the kernel's own start, kill
// and remove, and no limits.
func BareV2(under, name string) (*Group, error) {
	files := kernelFiles{}
	dir := filepath.Join(under, home, name)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := files.Mkdir(d); err != nil {
			return nil, err
		}
	}
	ctl := &Controller{mode: V2, files: files, dirs: map[string]string{"": under}}
	return &Group{name: name, ctl: ctl, dirs: map[string]string{"": dir}}, nil
}
