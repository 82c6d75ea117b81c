package egress

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

// tokenUser is the user name that goes with every token.
const tokenUser = "run"

// grant is one Open: whoever knows its token gets out until it is closed.
type grant struct {
	digest [sha256.Size]byte

	mu     sync.Mutex
	closed bool               // guarded by mu
	users  map[*exchange]bool // guarded by mu
	wg     sync.WaitGroup     // of users; added to under mu
}

// admit counts an exchange in, unless the grant is closed.
func (g *grant) admit(x *exchange) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.users[x] = true
	g.wg.Add(1)
	return true
}

func (g *grant) leave(x *exchange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.users, x)
	g.wg.Done()
}

// close ends every exchange and waits for them.
func (g *grant) close() {
	g.mu.Lock()
	g.closed = true
	for x := range g.users {
		x.end("closed: the command has ended")
	}
	g.mu.Unlock()
	g.wg.Wait()
}

// grants are the open ones.
type grants struct {
	mu   sync.Mutex
	list map[*grant]bool // guarded by mu
}

func (gs *grants) add() (token string, g *grant) {
	token = rand.Text()
	g = &grant{digest: sha256.Sum256([]byte(token)), users: map[*exchange]bool{}}
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.list == nil {
		gs.list = map[*grant]bool{}
	}
	gs.list[g] = true
	return token, g
}

func (gs *grants) remove(g *grant) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	delete(gs.list, g)
}

// find compares with every open grant, in the same time whether it fits.
func (gs *grants) find(token string) *grant {
	digest := sha256.Sum256([]byte(token))
	gs.mu.Lock()
	defer gs.mu.Unlock()
	var found *grant
	for g := range gs.list {
		if subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1 {
			found = g
		}
	}
	return found
}

// tokenOf reads the one Proxy-Authorization header of a request (RFC 7617).
func tokenOf(h http.Header) (string, bool) {
	values := h.Values("Proxy-Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, encoded, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", false
	}
	user, token, ok := strings.Cut(string(decoded), ":")
	return token, ok && user == tokenUser
}

// Open lets out whoever uses the environment it returns, for a proxy at the
// address inside (host:port), until done is called. done closes what is still
// connected and returns when all its decisions have been told; it is
// idempotent.
func (g *Gateway) Open(address string) (env []string, done func()) {
	token, opened := g.grants.add()
	return environment(address, token), func() {
		g.grants.remove(opened)
		opened.close()
	}
}
