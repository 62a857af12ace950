package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
)

// Options chooses what to compare. All members are required but Progress and
// Patience.
type Options struct {
	Peers     []engine.Peer
	Users     []int
	Depths    []int
	Questions int           // verified, and rotated over
	Each      time.Duration // of one timed run; an engine has two in a world

	// Patience leaves out an engine whose answers would take longer to verify;
	// zero leaves out none.
	Patience time.Duration

	// Progress hears a line before each step; nil hears nothing.
	Progress func(line string)
}

// World is the part of a report about one world.
type World struct {
	Users     int    `json:"users"`
	Depth     int    `json:"depth"`
	Groups    int    `json:"groups"`
	Scopes    int    `json:"scopes"`
	Grants    int    `json:"grants"`
	Revokes   int    `json:"revokes"`
	Questions int    `json:"questions"`
	Lines     []Line `json:"lines"`
}

// Report is the outcome of a comparison.
type Report struct {
	Machine Machine `json:"machine"`
	Worlds  []World `json:"worlds"`
}

// Run compares. In each world every engine answers every question before the first
// one is timed; a wrong answer ends the comparison with a DisagreementError. With
// an error the report holds the worlds that were done before it.
func Run(ctx context.Context, o Options) (*Report, error) {
	say := o.Progress
	if say == nil {
		say = func(string) {}
	}
	report := &Report{Machine: thisMachine()}
	if len(o.Peers) == 0 || len(o.Users) == 0 || len(o.Depths) == 0 || o.Each <= 0 {
		return report, fmt.Errorf("compare: engines, users, depths and a positive time are required")
	}
	for _, users := range o.Users {
		for _, depth := range o.Depths {
			w, err := workload.Generate(workload.Params{Users: users, Depth: depth, Questions: o.Questions})
			if err != nil {
				return report, err
			}
			world, err := compareIn(ctx, o, w, say)
			if err != nil {
				return report, err
			}
			report.Worlds = append(report.Worlds, *world)
		}
	}
	return report, nil
}

func compareIn(ctx context.Context, o Options, w *workload.World, say func(string)) (*World, error) {
	world := &World{Users: len(w.Users), Depth: w.Params.Depth, Groups: len(w.Groups), Scopes: len(w.Scopes),
		Grants: len(w.Grants), Revokes: len(w.Revokes), Questions: len(w.Questions)}
	leftOut := map[string]string{}
	for _, p := range o.Peers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		say(fmt.Sprintf("%d users, %d deep: verifying %s", world.Users, world.Depth, p.Name))
		err := Verify(ctx, p, w, o.Patience)
		var impatience *ImpatienceError
		if errors.As(err, &impatience) {
			leftOut[p.Name] = err.Error()
			say(fmt.Sprintf("%d users, %d deep: LEAVING OUT %s: %v", world.Users, world.Depth, p.Name, err))
		} else if err != nil {
			return nil, err
		}
	}
	say(fmt.Sprintf("%d users, %d deep: %d engines agree on %d questions", world.Users, world.Depth, len(o.Peers)-len(leftOut), len(w.Questions)))
	for _, p := range o.Peers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line := Line{Engine: p.Name, Module: p.Module, Version: versionOf(p.Module), Model: p.Model, LeftOut: leftOut[p.Name]}
		if line.LeftOut == "" {
			say(fmt.Sprintf("%d users, %d deep: timing %s", world.Users, world.Depth, p.Name))
			var err error
			if line, err = measure(ctx, p, w, o.Each); err != nil {
				return nil, err
			}
		}
		world.Lines = append(world.Lines, line)
	}
	world.ratios()
	return world, nil
}

// ratios relates each line to the lines of authz, where those were measured.
func (w *World) ratios() {
	over := func(name string, set func(l *Line, ratio float64)) {
		for _, reference := range w.Lines {
			if reference.Engine != name || reference.One.NsPerCheck == 0 {
				continue
			}
			for i := range w.Lines {
				set(&w.Lines[i], w.Lines[i].One.NsPerCheck/reference.One.NsPerCheck)
			}
		}
	}
	over("authz client", func(l *Line, r float64) { l.OverClient = r })
	over("authz snapshot", func(l *Line, r float64) { l.OverSnapshot = r })
}
