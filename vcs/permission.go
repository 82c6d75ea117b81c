package vcs

import "fmt"

// Permission is an account's level of access to a repository, custom roles
// resolved to the base role they extend. Levels are ordered: a higher one
// includes the lower ones. The zero value is no access.
type Permission int

// The levels, from none up.
const (
	PermissionNone Permission = iota
	PermissionRead
	PermissionTriage
	PermissionWrite
	PermissionMaintain
	PermissionAdmin
)

var permissionNames = [...]string{"none", "read", "triage", "write", "maintain", "admin"}

// String is the forge-neutral name of the level.
func (p Permission) String() string {
	if p < 0 || int(p) >= len(permissionNames) {
		return "none"
	}
	return permissionNames[p]
}

// ParsePermission reads a level's name; its error wraps ErrInvalid.
func ParsePermission(s string) (Permission, error) {
	for i, n := range permissionNames {
		if n == s {
			return Permission(i), nil
		}
	}
	return PermissionNone, fmt.Errorf("%w: permission %q: want one of %v", ErrInvalid, s, permissionNames)
}

// MarshalText writes the level's name.
func (p Permission) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a level's name.
func (p *Permission) UnmarshalText(b []byte) error {
	v, err := ParsePermission(string(b))
	if err != nil {
		return err
	}
	*p = v
	return nil
}
