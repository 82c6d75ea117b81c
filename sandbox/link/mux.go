package link

import (
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

// writeTimeout ends a connection whose other end has stopped reading. It is
// long, because a sandbox can be starved of processors by what runs in it.
const writeTimeout = time.Minute

// waiting bounds the streams that one end has opened and the other not yet
// taken up.
const waiting = 128

// closeTimeout ends a stream that one end has closed and the other has not.
const closeTimeout = time.Minute

func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false // the connection lives as long as both processes
	c.ConnectionWriteTimeout = writeTimeout
	c.AcceptBacklog = waiting
	c.StreamCloseTimeout = closeTimeout
	c.LogOutput = io.Discard
	return c
}

// Host is the host's end of a connection.
func Host(conn io.ReadWriteCloser) (*yamux.Session, error) { return yamux.Client(conn, config()) }

// Guest is the guest's end.
func Guest(conn io.ReadWriteCloser) (*yamux.Session, error) { return yamux.Server(conn, config()) }
