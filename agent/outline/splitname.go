package outline

import "strings"

// SplitName splits "Type.method", "ns::Type::method", "Class#method" and
// "Type->method" into what holds it and the name itself.
func SplitName(name string) (parent, last string) {
	name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), "()"))
	name = strings.NewReplacer("::", ".", "->", ".", "#", ".", "(*", "", ")", "").Replace(name)
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || i == len(name)-1 {
		return "", name
	}
	return name[:i], name[i+1:]
}
