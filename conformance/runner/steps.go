package runner

import (
	"fmt"
	"sync"
)

// keepSteps is how many of the last steps of a case a failure shows.
const keepSteps = 24

// steps remembers the last steps of a case; steps alike in a row are counted.
type steps struct {
	mu    sync.Mutex
	last  []step
	total int
}

type step struct {
	text  string
	times int
}

func (s *steps) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if n := len(s.last); n > 0 && s.last[n-1].text == text {
		s.last[n-1].times++
		return
	}
	if len(s.last) == keepSteps {
		s.last = append(s.last[:0], s.last[1:]...)
	}
	s.last = append(s.last, step{text, 1})
}

func (s *steps) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := 0
	var out []string
	for _, one := range s.last {
		shown += one.times
		if one.times > 1 {
			out = append(out, fmt.Sprintf("%s (%d times)", one.text, one.times))
		} else {
			out = append(out, one.text)
		}
	}
	if earlier := s.total - shown; earlier > 0 {
		out = append([]string{fmt.Sprintf("… %d earlier steps", earlier)}, out...)
	}
	return out
}
