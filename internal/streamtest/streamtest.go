// Package streamtest reads answers that may be streams of events, in tests.
package streamtest

import (
	"bufio"
	"io"
	"net/http"
	"strings"
)

// Body reads an answer to its end; of a stream of events, which has none, what comes
// before the first one.
func Body(answer *http.Response) ([]byte, error) {
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return io.ReadAll(answer.Body)
	}
	text, err := bufio.NewReader(answer.Body).ReadString('\n')
	return []byte(text), err
}

// Event is a server-sent event.
type Event struct{ Name, Data string }

// Events reads a stream until it ends, comments left out. The channel is closed then.
func Events(answer *http.Response) <-chan Event {
	events := make(chan Event, 100)
	go func() {
		defer close(events)
		defer answer.Body.Close()
		var e Event
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				e.Name = value
			case name == "data":
				e.Data = value
			case name == "" && e != (Event{}):
				events <- e
				e = Event{}
			}
		}
	}()
	return events
}
