package store_test

import (
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs/store"
)

func TestFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s, err := store.Open(srv.url, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		for _, c := range []struct {
			name, member string
			want         bool
		}{{"a", "1", true}, {"a", "1", true}, {"a", "2", false}, {"b", "2", true}} {
			if got, err := s.First(ctx, c.name, c.member, time.Minute); err != nil || got != c.want {
				t.Errorf("%s of %s is the first: %v, %v; want %v", c.member, c.name, got, err, c.want)
			}
		}
		srv.away()
		if _, err := s.First(ctx, "a", "1", time.Minute); err == nil {
			t.Error("without Redis something is the first")
		}
	})
}
