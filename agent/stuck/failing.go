package stuck

// failures is how a check last failed, and in which trees.
type failures struct {
	output digest
	trees  map[string]bool
}

// Failed is told that a verifying command failed with this output in this
// tree. True means that the same failure was seen in [SameFailures] different
// trees: editing on will not help, the cause is somewhere else. The count then
// starts anew.
func (d *Detector) Failed(check, output, tree string) bool {
	sum := digestOf([]byte(normalise(output)))
	f := d.failing[check]
	if f == nil || f.output != sum {
		f = &failures{output: sum, trees: make(map[string]bool)}
		d.failing[check] = f
	}
	f.trees[tree] = true
	if len(f.trees) < SameFailures {
		return false
	}
	delete(d.failing, check)
	return true
}

// Passed is told that a verifying command succeeded.
func (d *Detector) Passed(check string) { delete(d.failing, check) }
