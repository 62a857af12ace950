package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// maxMessage bounds one message of the wire protocol, as servers do.
const maxMessage = 48 << 20

// gates order the commands on each database: FerretDB finds and modifies in two
// steps, which a second writer would come between. Readers share a gate.
type gates struct {
	mu sync.Mutex
	by map[string]*sync.RWMutex
}

var forward = gates{by: map[string]*sync.RWMutex{}}

func (g *gates) of(database string) *sync.RWMutex {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := g.by[database]
	if gate == nil {
		gate = &sync.RWMutex{}
		g.by[database] = gate
	}
	return gate
}

var reads = map[string]bool{
	"find": true, "getMore": true, "killCursors": true, "count": true, "aggregate": true, "listCollections": true, "listIndexes": true,
	"hello": true, "isMaster": true, "ismaster": true, "ping": true, "buildInfo": true, "endSessions": true,
}

func serve(l net.Listener, upstream string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				return
			}
			defer server.Close()
			_ = pump(client, server) // either side closed
		}()
	}
}

// pump carries commands and their answers until either side closes.
func pump(client, server net.Conn) error {
	fromClient, fromServer := bufio.NewReaderSize(client, 64<<10), bufio.NewReaderSize(server, 64<<10)
	for {
		command, err := message(fromClient)
		if err != nil {
			return err
		}
		answer, err := ask(server, fromServer, command)
		if err != nil {
			return err
		}
		if _, err := client.Write(answer); err != nil {
			return err
		}
	}
}

func ask(server net.Conn, fromServer io.Reader, command []byte) ([]byte, error) {
	name, database, answered := inspect(command)
	gate := forward.of(database)
	if reads[name] {
		gate.RLock()
		defer gate.RUnlock()
	} else {
		gate.Lock()
		defer gate.Unlock()
	}
	if _, err := server.Write(command); err != nil || !answered {
		return nil, err
	}
	return message(fromServer)
}

// inspect reads an OP_MSG: the command's name is the first member of its body, the
// database stands under $db near the end. Older messages are greetings.
func inspect(command []byte) (name, database string, answered bool) {
	const opMsg, moreToCome, body = 2013, 2, 21
	if len(command) < body+5 || binary.LittleEndian.Uint32(command[12:]) != opMsg {
		return "hello", "", true
	}
	answered = binary.LittleEndian.Uint32(command[16:])&moreToCome == 0
	doc := command[body:]
	if size := binary.LittleEndian.Uint32(doc); command[body-1] == 0 && int(size) <= len(doc) {
		doc = doc[:size]
	}
	if end := bytes.IndexByte(doc[5:], 0); end >= 0 {
		name = string(doc[5 : 5+end])
	}
	member := []byte("\x02$db\x00")
	if at := bytes.LastIndex(doc, member); at >= 0 && at+len(member)+4 < len(doc) {
		value := doc[at+len(member)+4:]
		if end := bytes.IndexByte(value, 0); end >= 0 {
			database = string(value[:end])
		}
	}
	return name, database, answered
}

// message reads one message: its length comes first and counts itself.
func message(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < 16 || size > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	b := make([]byte, size)
	copy(b, head[:])
	_, err := io.ReadFull(r, b[4:])
	return b, err
}
