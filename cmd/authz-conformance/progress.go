package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/authzhost/authz/conformance/runner"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/terminal"
)

// progress tells how far a run is: on a terminal in one line that changes,
// elsewhere in a line for each suite.
type progress struct {
	w        io.Writer
	terminal bool
	left     map[string]int // cases of each suite
	total    int
	done     int
	counts   map[string]map[runner.Outcome]int
}

func newProgress(w io.Writer, cases []runner.Case) *progress {
	p := &progress{w: w, left: map[string]int{}, total: len(cases), counts: map[string]map[runner.Outcome]int{}}
	if f, ok := terminal.File(w); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, p.w = true, f // the line that changes moves the cursor itself
		}
	}
	for _, c := range cases {
		p.left[c.Suite]++
		if p.counts[c.Suite] == nil {
			p.counts[c.Suite] = map[runner.Outcome]int{}
		}
	}
	return p
}

func (p *progress) begin(d found) {
	shown := func(s string) string { return spell.EchoN(s, math.MaxInt32) } // the plugin's own words
	fmt.Fprintf(p.w, "plugin %s %s, %s, %d cases\n", shown(d.plugin.Name), shown(d.plugin.Version), shown(strings.Join(d.served, ", ")), p.total)
	for _, note := range d.notes {
		fmt.Fprintln(p.w, "note: "+shown(note))
	}
}

// tell is called for one result at a time.
func (p *progress) tell(r runner.Result) {
	suite := r.Case.Suite
	p.done++
	p.left[suite]--
	p.counts[suite][r.Outcome]++
	if p.terminal {
		if r.Outcome == runner.Failed {
			fmt.Fprintf(p.w, "\r\x1b[Kfailed: %s %s\n", r.Case.ID, r.Case.Rule)
		}
		fmt.Fprintf(p.w, "\r\x1b[K%d of %d, %d failed: %s %s", p.done, p.total, p.failed(), r.Case.ID, clip(r.Case.Rule, 50))
		return
	}
	if p.left[suite] == 0 {
		c := p.counts[suite]
		fmt.Fprintf(p.w, "%s: %d passed, %d failed, %d skipped\n", suite, c[runner.Passed], c[runner.Failed], c[runner.Skipped])
	}
}

func (p *progress) failed() int {
	n := 0
	for _, c := range p.counts {
		n += c[runner.Failed]
	}
	return n
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most])) + "…"
	}
	return s
}
