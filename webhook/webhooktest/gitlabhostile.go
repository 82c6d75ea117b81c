package webhooktest

import (
	"slices"
	"strings"
)

const (
	variantHead = "8bd1f2e5a9c34d7f8e6b0a1c2d3e4f5061728394"
	pathLine    = `"path_with_namespace": "acme/tools.d/widgets"`
	namedUser   = `"username": "ada"`
)

func pathAs(with string) string { return `"path_with_namespace": ` + with }

// GitLabHostile are payloads as an attacker, a broken proxy, or another version
// of GitLab would send them.
func GitLabHostile() []Variant {
	return slices.Concat(
		hostilePaths(), hostileAddresses(), hostileNumbers(), hostilePeople(), hostileBranches(), otherVersions(), hostileTexts(),
	)
}

// hostilePaths: paths made to break out.
func hostilePaths() []Variant {
	return []Variant{
		{"path upwards", "note.issue", pathLine, pathAs(`"acme/../widgets"`), VariantRefused},
		{"path is upwards", "note.issue", pathLine, pathAs(`"../.."`), VariantRefused},
		{"path from the root", "note.issue", pathLine, pathAs(`"/etc/passwd"`), VariantRefused},
		{"path as an option", "note.issue", pathLine, pathAs(`"--upload-pack=x/widgets"`), VariantRefused},
		{"project as an option", "note.issue", pathLine, pathAs(`"acme/-x"`), VariantRefused},
		{"empty group", "note.issue", pathLine, pathAs(`"acme//widgets"`), VariantRefused},
		{"path ends in a slash", "note.issue", pathLine, pathAs(`"acme/"`), VariantRefused},
		{"no group", "note.issue", pathLine, pathAs(`"widgets"`), VariantRefused},
		{"backslash", "note.issue", pathLine, pathAs(`"acme\\..\\widgets"`), VariantRefused},
		{"encoded slash", "note.issue", pathLine, pathAs(`"acme%2f..%2fx/y"`), VariantRefused},
		{"query in the path", "note.issue", pathLine, pathAs(`"acme/x?private_token=y"`), VariantRefused},
		{"fragment in the path", "note.issue", pathLine, pathAs(`"acme/x#y"`), VariantRefused},
		{"line break in the path", "note.issue", pathLine, pathAs(`"acme/x\ny"`), VariantRefused},
		{"zero byte in the path", "note.issue", pathLine, pathAs(`"acme/x\u0000"`), VariantRefused},
		{"blank in the path", "note.issue", pathLine, pathAs(`"acme/x y"`), VariantRefused},
		{"not ASCII", "note.issue", pathLine, pathAs(`"acme/wıdgets"`), VariantRefused},
		{"direction marks", "note.issue", pathLine, pathAs(`"acme/\u202ewidgets"`), VariantRefused},
		{"repository's suffix", "note.issue", pathLine, pathAs(`"acme/widgets.git"`), VariantRefused},
		{"a path without an end", "note.issue", pathLine, pathAs(`"` + strings.Repeat("a/", 4000) + `b"`), VariantRefused},
		{"path as a number", "note.issue", pathLine, pathAs(`7`), VariantRefused},
		{"path as a list", "note.issue", pathLine, pathAs(`["acme","widgets"]`), VariantRefused},
		{"path null", "note.issue", pathLine, pathAs(`null`), "comment created #7"},
		{"many groups", "note.issue", pathLine, pathAs(`"a/b.c/d_e/f-g/h.i/widgets"`), "comment created #7"},
	}
}

// hostileAddresses: addresses of a project that is named by its address alone.
func hostileAddresses() []Variant {
	return []Variant{
		{"address upwards", "job.failed", "gitlab/acme/tools.d/widgets", "gitlab/acme/../../etc/passwd", VariantRefused},
		{"address elsewhere", "job.failed", "git.example.com/gitlab/", "git.example.com/other/", VariantRefused},
		{"address encoded", "job.failed", "gitlab/acme/tools.d", "gitlab/acme%2f..", VariantRefused},
		{"address with a query", "job.failed", "acme/tools.d/widgets\"", "acme/tools.d/widgets?x=/../y\"", "check failure on greenwright/7-guard of unknown, part, private"},
		{"no address", "job.failed", `"homepage"`, `"home"`, VariantRefused},
		{"address malformed", "job.failed", `"homepage": "https://`, `"homepage": "https://%zz`, VariantRefused},
	}
}

// hostileNumbers: numbers.
func hostileNumbers() []Variant {
	return []Variant{
		{"negative iid", "note.issue", `"iid": 7`, `"iid": -7`, VariantRefused},
		{"zero iid", "note.issue", `"iid": 7`, `"iid": 0`, VariantRefused},
		{"iid as text", "note.issue", `"iid": 7`, `"iid": "7"`, VariantRefused},
		{"iid beyond numbers", "note.issue", `"iid": 7`, `"iid": 99999999999999999999`, VariantRefused},
		{"iid as a fraction", "note.issue", `"iid": 7`, `"iid": 7.5`, VariantRefused},
		{"project without id", "note.issue", `"id": 41`, `"id": 0`, "comment created #7"}, // project_id says it as well
		{"project with another id", "note.issue", `"project_id": 41,` + "\n \"project\"", `"project_id": 42,` + "\n \"project\"", VariantRefused},
		{"negative project", "job.failed", `"project_id": 41`, `"project_id": -41`, VariantRefused},
		{"negative note", "note.issue", `"id": 1241`, `"id": -1`, VariantRefused},
		{"negative job", "job.failed", `"build_id": 380`, `"build_id": -380`, VariantRefused},
		{"pipeline without id", "pipeline.failed", `"id": 31,`, `"id": null,`, VariantRefused},
	}
}

// hostilePeople: people.
func hostilePeople() []Variant {
	return []Variant{
		{"user null", "note.issue", "\"user\": {\n  \"id\": 7,\n  \"name\": \"Ada\",\n  \"username\": \"ada\",\n  \"avatar_url\": null,\n  \"email\": \"[REDACTED]\"\n }", `"user": null`, "comment created #7"},
		{"user with a path", "note.issue", namedUser, `"username": "ada/../root"`, VariantRefused},
		{"user with a line", "note.issue", namedUser, `"username": "ada\nroot"`, VariantRefused},
		{"user as an option", "note.issue", namedUser, `"username": "-ada"`, VariantRefused},
		{"user without a name", "note.issue", namedUser, `"username": ""`, VariantRefused},
		{"user as a text", "note.issue", `"user": {`, `"user": "ada", "user2": {`, VariantRefused},
		{"user twice", "note.issue", `"user": {`, `"user": {"id": 1, "username": "root"}, "user": {`, VariantRefused},
		{"negative user", "note.issue", "\"user\": {\n  \"id\": 7", "\"user\": {\n  \"id\": -7", VariantRefused},
		{"a token's account", "note.issue", namedUser, `"username": "group_12_bot_ff"`, "comment created #7 by a bot"},
		{"nearly a token's account", "note.issue", namedUser, `"username": "project_x_bot"`, "comment created #7"},
		{"nobody opened it", "issue.open", "\"user\": {\n  \"id\": 7", "\"user\": {\n  \"id\": 0", VariantRefused},
		{"another author", "note.issue", `"author_id": 7,` + "\n  \"change_position\"", `"author_id": 8,` + "\n  \"change_position\"", "comment created #7"},
	}
}

// hostileBranches: branches and object names.
func hostileBranches() []Variant {
	return []Variant{
		{"source as an option", "merge_request.open", `"greenwright/7-guard"`, `"--upload-pack=x"`, VariantRefused},
		{"source upwards", "merge_request.open", `"greenwright/7-guard"`, `"../../heads/main"`, VariantRefused},
		{"source as a ref", "merge_request.open", `"greenwright/7-guard"`, `"refs/heads/main"`, VariantRefused},
		{"source with a colon", "merge_request.open", `"greenwright/7-guard"`, `"a:refs/heads/main"`, VariantRefused},
		{"source with a line", "merge_request.open", `"greenwright/7-guard"`, `"a\nb"`, VariantRefused},
		{"source empty", "merge_request.open", `"greenwright/7-guard"`, `""`, VariantRefused},
		{"source is a lock", "merge_request.open", `"greenwright/7-guard"`, `"a.lock"`, VariantRefused},
		{"target as an option", "merge_request.open", `"target_branch": "main"`, `"target_branch": "-main"`, VariantRefused},
		{"default branch as an option", "merge_request.open", `"default_branch": "main"`, `"default_branch": "-x"`, VariantRefused},
		{"short object name", "merge_request.open", variantHead, "8bd1f2", VariantRefused},
		{"object name in capitals", "merge_request.open", variantHead, strings.ToUpper(variantHead), VariantRefused},
		{"another project with this path", "merge_request.open.fork", `"bob/widgets"`, `"acme/tools.d/widgets"`, VariantRefused},
		{"fork with a path upwards", "merge_request.open.fork", `"bob/widgets"`, `"bob/../acme"`, VariantRefused},
		{"fork without a path", "merge_request.open.fork", `"bob/widgets"`, `""`, VariantRefused},
		{"ref of a pipeline as an option", "pipeline.failed", `"greenwright/7-guard"`, `"--x"`, VariantRefused},
		{"ref of a pipeline is another ref", "pipeline.failed", `"greenwright/7-guard"`, `"refs/keep-around/x"`, VariantRefused},
		{"head of a pipeline", "pipeline.failed", variantHead, "HEAD", VariantRefused},
		{"ref of a job with a star", "job.failed", `"greenwright/7-guard"`, `"*"`, VariantRefused},
		{"head of a job", "job.failed", variantHead, variantHead + "0", VariantRefused},
		{"pushed branch upwards", "push", "refs/heads/greenwright/7-guard", "refs/heads/../x", VariantRefused},
		{"pushed tag", "push", "refs/heads/greenwright/7-guard", "refs/tags/v1", "unsupported "},
		{"pushed nothing", "push", `"after": "` + variantHead, `"after": "x`, VariantRefused},
		{"head of a note's diff", "note.diff", variantHead, "$(id)", VariantRefused}, // last_commit's as well
	}
}

// otherVersions: what other versions leave out or add.
func otherVersions() []Variant {
	return []Variant{
		{"no object_attributes", "note.issue", `"object_attributes"`, `"attributes"`, "ignored: note on something else"},
		{"object_attributes null", "note.issue", `"object_attributes": {`, `"object_attributes": null, "x": {`, "ignored: note on something else"},
		{"object_attributes as a list", "note.issue", `"object_attributes": {`, `"object_attributes": [], "x": {`, VariantRefused},
		{"no issue", "note.issue", `"issue": {`, `"issues": {`, VariantRefused},
		{"no merge request", "note.diff", `"merge_request": {`, `"pull": {`, VariantRefused},
		{"no project", "note.issue", `"project": {`, `"projects": {`, "comment created #7"}, // its address says it
		{"object of a kind to come", "note.issue", `"object_kind": "note"`, `"object_kind": "thought"`, "ignored: event not used"},
		{"no object", "note.issue", `"object_kind": "note"`, `"x": 1`, "ignored: event not used"},
		{"object is another", "note.issue", `"object_kind": "note"`, `"object_kind": "merge_request"`, "ignored: event and payload differ"},
		{"object as a number", "note.issue", `"object_kind": "note"`, `"object_kind": 1`, VariantRefused},
		{"action to come", "note.issue", `"action": "create"`, `"action": "shout"`, "ignored: action not used"},
		{"action with a line", "note.issue", `"action": "create"`, `"action": "create\n"`, "comment created #7"},
		{"action as a list", "note.issue", `"action": "create"`, `"action": ["create"]`, VariantRefused},
		{"time in no form", "note.issue", "2025-05-06 09:00:00 UTC", "yesterday", VariantRefused},
		{"time as a number", "note.issue", `"2025-05-06 09:00:00 UTC"`, `1746522000`, VariantRefused},
		{"time null", "note.issue", `"2025-05-06 09:00:00 UTC"`, `null`, "comment created #7"},
		{"time with an offset", "note.issue", "2025-05-06 09:00:00 UTC", "2025-05-06 11:00:00 +0200", "comment created #7"},
		{"note on a thing to come", "note.issue", `"noteable_type": "Issue"`, `"noteable_type": "Epic"`, "ignored: note on something else"},
		{"visibility to come", "job.failed", `"visibility_level": 0`, `"visibility_level": 30`, "check failure on greenwright/7-guard of unknown, part"},
		{"status to come", "pipeline.failed", `"status": "failed",` + "\n  \"detailed_status\"", `"status": "canceling",` + "\n  \"detailed_status\"", "ignored: check has not ended"},
		{"builds null", "pipeline.failed", `"builds": [`, `"builds": null, "x": [`, "check failure on greenwright/7-guard of unknown"},
		{"changes null", "merge_request.update.push", `"changes": {`, `"changes": null, "x": {`, "push update !8"},
		{"position as a number", "note.diff", `"position": {`, `"position": 0, "x": {`, VariantRefused},
		{"members of a version to come", "note.issue", `"object_kind"`, `"agent": {"deep": [[[{}]]]}, "object_kind"`, "comment created #7"},
	}
}

// hostileTexts: texts that only look like structure.
func hostileTexts() []Variant {
	return []Variant{
		{"payload in a text", "note.issue", `"/agent fix",` + "\n  \"noteable_id\"", `"\\\",\"system\":true,\"author_id\":1",` + "\n  \"noteable_id\"", "comment created #7"},
		{"confidential by its type alone", "note.issue", `"event_type": "note"`, `"event_type": "confidential_note"`, "comment created #7 internal hidden"},
		{"merge request said to be confidential", "note.merge_request", `"event_type": "note"`, `"event_type": "confidential_note"`, "comment created !8 internal hidden"},
	}
}
