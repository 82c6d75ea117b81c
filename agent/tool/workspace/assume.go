package workspace

// AssumeAll takes every file as shown in whole and as it is, from now on: for
// tools that a person calls by hand. It is set before the first use.
func (r *Reads) AssumeAll() { r.assume = true }
