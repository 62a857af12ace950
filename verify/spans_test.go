package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// nestedParts are parts of a text that nest or lie apart, in any order.
func nestedParts(random *rand.Rand, from, to, depth int) [][2]int {
	var all [][2]int
	for at := from; at < to && depth > 0; {
		end := at + 1 + random.IntN(to-at)
		if random.IntN(3) > 0 {
			all = append(all, [2]int{at, end})
			all = append(all, nestedParts(random, at+random.IntN(2), end, depth-1)...)
		}
		at = end + random.IntN(3)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func TestSpansAnswerAsALookAtEachDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range 300 {
		parts := nestedParts(random, 0, 60, 4)
		var s spans
		for n, part := range parts {
			s.add(part[0], part[1])
			for range 20 {
				from := random.IntN(60)
				to := from + random.IntN(60-from)
				want := slices.ContainsFunc(parts[:n+1], func(p [2]int) bool { return p[0] <= from && to <= p[1] })
				if got := s.around(from, to); got != want {
					t.Fatalf("%v of %v: around %d, %d is %v", s, parts[:n+1], from, to, got)
				}
				if want {
					held++
				}
			}
		}
	}
	if held == 0 {
		t.Error("no part was held by another")
	}
}

func TestTheRouterOfANameIsTheInnermost(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 300 {
		r := reader{}
		for i, part := range nestedParts(random, 0, 60, 4) {
			r.routerDecls = append(r.routerDecls, routerDecl{name: fmt.Sprint("r", random.IntN(2)), from: part[0], to: part[1], id: fmt.Sprint(i)})
		}
		r.indexRouters()
		for range 50 {
			name, from := fmt.Sprint("r", random.IntN(2)), random.IntN(60)
			to := from + random.IntN(60-from)
			var want *routerDecl
			for i := range r.routerDecls {
				d := &r.routerDecls[i]
				if d.name == name && d.from <= from && to <= d.to && (want == nil || d.from > want.from || d.from == want.from && d.to <= want.to) {
					want = d
				}
			}
			if got := r.routers.at(name, from, to); got != want {
				t.Fatalf("%+v: %s at %d, %d is %+v, want %+v", r.routerDecls, name, from, to, got, want)
			}
			if want != nil {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no router was found")
	}
}
