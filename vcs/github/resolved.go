package github

import (
	"context"
	"fmt"
	"net/http"

	"github.com/greenwright/greenwright/vcs"
)

// resolvedQuery asks for what REST does not tell: whether a review thread is
// resolved (docs.github.com/graphql/reference/objects#pullrequestreviewthread).
const resolvedQuery = `query($owner:String!,$name:String!,$number:Int!,$after:String){
repository(owner:$owner,name:$name){pullRequest(number:$number){reviewThreads(first:100,after:$after){
pageInfo{hasNextPage endCursor}
nodes{isResolved isOutdated comments(first:1){nodes{databaseId}}}}}}}`

type graphqlRequest struct {
	Query     string           `json:"query"`
	Variables resolvedVariable `json:"variables"`
}

type resolvedVariable struct {
	Owner  string  `json:"owner"`
	Name   string  `json:"name"`
	Number int     `json:"number"`
	After  *string `json:"after"`
}

type resolvedAnswer struct {
	Data struct {
		Repository *struct {
			PullRequest *struct {
				ReviewThreads threadPage `json:"reviewThreads"`
			} `json:"pullRequest"`
		} `json:"repository"`
	} `json:"data"`
	Errors []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"errors"`
}

type threadPage struct {
	PageInfo struct {
		HasNextPage bool   `json:"hasNextPage"`
		EndCursor   string `json:"endCursor"`
	} `json:"pageInfo"`
	Nodes []struct {
		IsResolved bool `json:"isResolved"`
		IsOutdated bool `json:"isOutdated"`
		Comments   struct {
			Nodes []struct {
				DatabaseID int64 `json:"databaseId"`
			} `json:"nodes"`
		} `json:"comments"`
	} `json:"nodes"`
}

// markResolved fills Resolved, and adds to Outdated.
func (f *Forge) markResolved(ctx context.Context, c client, t vcs.Thread, threads []vcs.ReviewThread) error {
	index := make(map[int64]*vcs.ReviewThread, len(threads))
	for i := range threads {
		index[threads[i].ID] = &threads[i]
	}
	v := resolvedVariable{Owner: t.Repo.Owner, Name: t.Repo.Name, Number: t.Number}
	for range maxPages {
		page, err := f.threadPage(ctx, c, v)
		if err != nil {
			return fmt.Errorf("reading which threads are resolved: %w", err)
		}
		for _, n := range page.Nodes {
			for _, cm := range n.Comments.Nodes {
				if th := index[cm.DatabaseID]; th != nil {
					th.Resolved, th.Outdated = n.IsResolved, th.Outdated || n.IsOutdated
				}
			}
		}
		if !page.PageInfo.HasNextPage {
			return nil
		}
		v.After = &page.PageInfo.EndCursor
	}
	return nil
}

func (f *Forge) threadPage(ctx context.Context, c client, v resolvedVariable) (threadPage, error) {
	r, err := c.NewRequest(http.MethodPost, f.at.graphql, graphqlRequest{Query: resolvedQuery, Variables: v})
	if err != nil {
		return threadPage{}, fmt.Errorf("building the request: %w", err)
	}
	var out resolvedAnswer
	if _, err := c.Do(ctx, r, &out); err != nil {
		return threadPage{}, err
	}
	if len(out.Errors) > 0 {
		return threadPage{}, fmt.Errorf("%w: graphql: %s", graphqlSentinel(out.Errors[0].Type), out.Errors[0].Message)
	}
	if out.Data.Repository == nil || out.Data.Repository.PullRequest == nil {
		return threadPage{}, vcs.ErrNotFound
	}
	return out.Data.Repository.PullRequest.ReviewThreads, nil
}

// graphqlSentinel classifies the type of a GraphQL error, which comes with 200.
func graphqlSentinel(kind string) error {
	switch kind {
	case "NOT_FOUND":
		return vcs.ErrNotFound
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		return vcs.ErrForbidden
	}
	return vcs.ErrUnavailable
}
