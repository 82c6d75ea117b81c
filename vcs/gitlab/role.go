package gitlab

import "github.com/greenwright/greenwright/vcs"

// Role is GitLab's access level; a custom role has the level of the one that it
// extends (docs.gitlab.com/api/access_requests, "Valid access levels").
type Role int

// The roles.
const (
	RoleNone       Role = 0
	RoleMinimal    Role = 5
	RoleGuest      Role = 10
	RolePlanner    Role = 15
	RoleReporter   Role = 20
	RoleDeveloper  Role = 30
	RoleMaintainer Role = 40
	RoleOwner      Role = 50
	RoleAdmin      Role = 60
)

// String is the role as GitLab's people know it.
func (r Role) String() string {
	switch {
	case r >= RoleAdmin:
		return "Administrator"
	case r >= RoleOwner:
		return "Owner"
	case r >= RoleMaintainer:
		return "Maintainer"
	case r >= RoleDeveloper:
		return "Developer"
	case r >= RoleReporter:
		return "Reporter"
	case r >= RolePlanner:
		return "Planner"
	case r >= RoleGuest:
		return "Guest"
	case r >= RoleMinimal:
		return "Minimal Access"
	}
	return "none"
}

// Permission is the forge-neutral level; one that is not known counts as the
// next lower one.
func (r Role) Permission() vcs.Permission {
	switch {
	case r >= RoleOwner:
		return vcs.PermissionAdmin
	case r >= RoleMaintainer:
		return vcs.PermissionMaintain
	case r >= RoleDeveloper:
		return vcs.PermissionWrite
	case r >= RolePlanner:
		return vcs.PermissionTriage
	case r >= RoleGuest:
		return vcs.PermissionRead
	}
	return vcs.PermissionNone
}
