package vcstest

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// firstID keeps ids apart from numbers of issues.
const firstID = 1_000_000

// accounts are a simulated forge's; its lock guards them.
type accounts struct {
	lastID int64
	users  map[string]vcs.Actor // by lower-case login
}

func newAccounts() accounts { return accounts{lastID: firstID, users: map[string]vcs.Actor{}} }

// addUser makes an account, or returns the one there is.
func (s *accounts) addUser(login string, k vcs.ActorKind) vcs.Actor {
	if a, ok := s.users[strings.ToLower(login)]; ok {
		return a
	}
	a := vcs.Actor{ID: s.newID(), Login: login, Kind: k}
	s.users[strings.ToLower(login)] = a
	return a
}

func (s *accounts) user(login string) (vcs.Actor, error) {
	a, ok := s.users[strings.ToLower(login)]
	if !ok {
		return vcs.Actor{}, fmt.Errorf("%w: no account %q", vcs.ErrNotFound, login)
	}
	return a, nil
}

func (s *accounts) newID() int64 {
	s.lastID++
	return s.lastID
}
