package vcstest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// graphql answers the one query that is known: which review threads of a pull
// request are resolved. It looks at the query only for the fields that it must
// ask for, and at the variables strictly.
func graphql(c *call) reply {
	var in struct {
		Query     string          `json:"query"`
		Variables json.RawMessage `json:"variables"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	for _, field := range []string{"repository(owner:$owner,name:$name)", "pullRequest(number:$number)", "reviewThreads(", "isResolved", "databaseId"} {
		if !strings.Contains(in.Query, field) {
			return c.missing("field " + field)
		}
	}
	c.body = in.Variables
	var v struct {
		Owner  string  `json:"owner"`
		Name   string  `json:"name"`
		Number int     `json:"number"`
		After  *string `json:"after"`
	}
	if rep, good := c.decode(&v); !good {
		return rep
	}
	c.repo = c.g.repos[strings.ToLower(v.Owner+"/"+v.Name)]
	if c.token == nil {
		return refuse(http.StatusUnauthorized, "Requires authentication")
	}
	if c.repo == nil || c.repo.threads[v.Number] == nil || c.repo.threads[v.Number].pull == nil {
		return graphqlError("NOT_FOUND", "Could not resolve to a PullRequest")
	}
	if !c.token.allows(pullsRead, c.repo) {
		c.g.fault("graphql: %s may not: want %s", c.token, pullsRead)
		return graphqlError("FORBIDDEN", "Resource not accessible by integration")
	}
	return ok(object{"data": object{"repository": object{"pullRequest": object{"reviewThreads": c.threads(c.repo.threads[v.Number])}}}})
}

func graphqlError(kind, message string) reply {
	return ok(object{"data": nil, "errors": []object{{"type": kind, "message": message}}})
}

func (c *call) threads(t *thread) object {
	nodes := []object{}
	for _, rev := range t.reviews {
		for _, th := range rev.Remarks {
			nodes = append(nodes, object{
				"isResolved": th.Resolved, "isOutdated": th.Outdated,
				"comments": object{"nodes": []object{{"databaseId": th.ID}}},
			})
		}
	}
	return object{"pageInfo": object{"hasNextPage": false, "endCursor": nil}, "nodes": nodes}
}
