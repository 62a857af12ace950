package compare

import (
	"fmt"
	"testing"

	"github.com/authzhost/authz/bench/workload"
)

// BenchmarkCheck times each engine on the smallest world of the comparison. Every
// answer is compared. The command cmd/compare is what makes the figures; this is
// for profiles of one engine.
func BenchmarkCheck(b *testing.B) {
	for _, depth := range []int{5, 20} {
		w, err := workload.Generate(workload.Params{Depth: depth})
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range Peers() {
			b.Run(fmt.Sprintf("%s/depth=%d", p.Name, depth), func(b *testing.B) {
				e, err := p.Load(b.Context(), w)
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close()
				check, err := e.Ask(b.Context(), w.Questions)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if err := ask(p.Name, check, w.Questions, i%len(w.Questions)); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
