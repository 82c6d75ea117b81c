package vcstest

import (
	"github.com/greenwright/greenwright/vcs"
)

// World furnishes a simulated GitLab for the conformance suite, with the driver
// that is to be tested on it. A review's words are those of its remarks, and
// nobody tells who else reports a status.
func (g *GitLab) World(t T, f vcs.Forge) World {
	t.Helper()
	repo, err := g.CreateRepo("acme/tools", "widgets", map[string]string{
		"mean.go": "package widgets\n", ".gitlab-ci.yml": "test:\n  script: [go test ./...]\n",
	})
	must(t, err)
	w := furnish(t, f, repo, furniture{
		account: g.CreateUser, seen: repo.CommentsOf,
		red: CheckResult{
			JobName: "test 1/2", Conclusion: vcs.ConclusionFailure, Log: "FAIL\n",
			Steps: []vcs.CheckStep{{Number: 1, Name: "go vet ./..."}, {Number: 2, Name: "go test ./..."}},
		},
		foreign: CheckResult{JobName: "coverage", App: "external", Conclusion: vcs.ConclusionFailure},
	})
	w.RemarkByRemark = true
	return w
}
