package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/bench/authz"
	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/openfga"
	"github.com/authzhost/authz/bench/workload"
)

// ListReport is what a comparison of lists found.
type ListReport struct {
	Machine Machine    `json:"machine"`
	Lines   []ListLine `json:"lines"`
	LeftOut []LeftOut  `json:"leftOut,omitempty"`
}

// LeftOut is an engine that was not asked, and why.
type LeftOut struct {
	Engine string `json:"engine"`
	Reason string `json:"reason"`
}

func (l LeftOut) String() string { return fmt.Sprintf("Left out: %s, %s.", l.Engine, l.Reason) }

// ListLine is what the lists of one engine took: p50 and p99 of one list, whole.
type ListLine struct {
	Engine   string        `json:"engine"`
	Version  string        `json:"version"`
	Users    int           `json:"users"`
	Depth    int           `json:"depth"`
	Who      time.Duration `json:"who"` // who may use a key at a scope
	WhoP99   time.Duration `json:"whoP99"`
	Where    time.Duration `json:"where"` // the scopes at which a user may use a key
	WhereP99 time.Duration `json:"whereP99"`
	Rows     int           `json:"rows"` // of both, over all questions
}

// Listers are the engines of Peers that answer whole lists in time, and the others.
func Listers() (peers []engine.Peer, out []LeftOut) {
	for _, p := range Peers() {
		switch {
		case p.Name == openfga.Relations().Name:
			out = append(out, LeftOut{p.Name, "one list takes minutes in the smallest world, and is cut at its deadline without an error"})
		case p.Name != authz.Client().Name && !strings.HasPrefix(p.Name, "openfga"):
			out = append(out, LeftOut{p.Name, "it answers no lists"})
		default:
			peers = append(peers, p)
		}
	}
	return peers, out
}

// RunLists compares lists. Of every question of a world it asks who else may do the
// same, and where else the same user may. Every list is compared with the rows' own
// while it is timed; a wrong one ends the comparison with an error, and what was done
// before is in the report.
func RunLists(ctx context.Context, o Options) (*ListReport, error) {
	report := &ListReport{Machine: thisMachine(), Lines: []ListLine{}}
	for _, users := range o.Users {
		for _, depth := range o.Depths {
			w, err := workload.Generate(workload.Params{Users: users, Depth: depth, Questions: o.Questions})
			if err != nil {
				return report, err
			}
			right := rightLists(w)
			for _, p := range o.Peers {
				if o.Progress != nil {
					o.Progress(fmt.Sprintf("%d users, %d deep: lists of %s", users, depth, p.Name))
				}
				line, err := lists(ctx, p, w, right)
				if err != nil {
					return report, err
				}
				line.Users, line.Depth = users, depth
				report.Lines = append(report.Lines, line)
			}
		}
	}
	return report, nil
}

// right are the lists that a question is answered with.
type right struct {
	who   []string
	where []workload.ScopeID
}

func rightLists(w *workload.World) []right {
	plain, all := w.Lists(), make([]right, len(w.Questions))
	for i, q := range w.Questions {
		all[i] = right{plain.Who(q.Key, q.Scope), plain.Where(q.User, q.Key)}
	}
	return all
}

func lists(ctx context.Context, p engine.Peer, w *workload.World, all []right) (line ListLine, err error) {
	e, err := p.Load(ctx, w)
	if err != nil {
		return line, fmt.Errorf("%s: loading: %w", p.Name, err)
	}
	defer e.Close()
	l, ok := e.(engine.Lister)
	if !ok {
		return line, fmt.Errorf("%s answers no lists", p.Name)
	}
	line = ListLine{Engine: p.Name, Version: versionOf(p.Module)}
	who, where := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	for i, q := range w.Questions {
		start := time.Now()
		users, err := l.Who(ctx, q.Key, q.Scope)
		who[i] = time.Since(start)
		if err != nil {
			return line, fmt.Errorf("%s: who may use %s at %+v: %w", p.Name, q.Key, q.Scope, err)
		}
		slices.Sort(users)
		if !slices.Equal(users, all[i].who) {
			return line, fmt.Errorf("%s disagrees with the rows: %d users may use %s at %+v, want %d", p.Name, len(users), q.Key, q.Scope, len(all[i].who))
		}
		start = time.Now()
		scopes, err := l.Where(ctx, q.User, q.Key)
		where[i] = time.Since(start)
		if err != nil {
			return line, fmt.Errorf("%s: where %s may use %s: %w", p.Name, q.User, q.Key, err)
		}
		slices.SortFunc(scopes, workload.CompareScopes)
		if !slices.Equal(scopes, all[i].where) {
			return line, fmt.Errorf("%s disagrees with the rows: %s may use %s at %d scopes, want %d", p.Name, q.User, q.Key, len(scopes), len(all[i].where))
		}
		line.Rows += len(users) + len(scopes)
	}
	slices.Sort(who)
	slices.Sort(where)
	line.Who, line.WhoP99 = who[len(who)/2], who[len(who)*99/100]
	line.Where, line.WhereP99 = where[len(where)/2], where[len(where)*99/100]
	return line, nil
}
