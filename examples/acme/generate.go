package acme

import (
	"fmt"
	"math/rand/v2"

	"github.com/authzhost/authz/sdk/authz"
)

// The seed of the sample; another one makes another world of the same shape.
const (
	seedHigh = 0x61636d65
	seedLow  = 2026
)

// Generate makes the sample world. Every call answers the same, in a copy of the
// caller's own.
func Generate() *World {
	g := &generator{rng: rand.New(rand.NewPCG(seedHigh, seedLow)), permissions: permissions()}
	g.people()
	g.tree()
	g.world.Roles = roles()
	g.grants()
	g.revokes()
	return &g.world
}

// generator draws everything from one source, so the order of the draws is part
// of the sample: no map is ever ranged over.
type generator struct {
	rng         *rand.Rand
	permissions []permission
	world       World
}

// pick draws one element; the list must not be empty.
func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// chance is true in percent of the draws.
func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }

// Ids count from 1, as people do.
func userID(n int) string { return fmt.Sprintf("u_%d", n) }

// tree makes 1,200 folders, twelve roots and up to eight levels below them, and
// documents in them; a few documents lie outside every folder. Invoices hang
// below flat accounts.
func (g *generator) tree() {
	const (
		folders  = 1200
		roots    = 12
		maxDepth = 8
		loose    = 20
		accounts = 80
		invoices = 400
	)
	folderID := func(n int) string { return authz.ScopeID(typeFolder, fmt.Sprintf("f_%d", n)) }
	depth := make([]int, folders+1)
	for n := 1; n <= folders; n++ {
		s := Scope{ID: folderID(n)}
		if n > roots {
			parent := 1 + g.rng.IntN(n-1)
			for depth[parent] == maxDepth {
				parent = 1 + g.rng.IntN(n-1)
			}
			s.Parents = []string{folderID(parent)}
			depth[n] = depth[parent] + 1
		}
		g.world.Scopes = append(g.world.Scopes, s)
	}
	for n := 1; n <= NodeCount-folders; n++ {
		s := Scope{ID: authz.ScopeID(typeDoc, fmt.Sprintf("d_%d", n))}
		if n <= NodeCount-folders-loose {
			s.Parents = []string{folderID(1 + g.rng.IntN(folders))}
		}
		g.world.Scopes = append(g.world.Scopes, s)
	}
	for n := 1; n <= accounts; n++ {
		g.world.Accounts = append(g.world.Accounts, authz.ScopeID(typeAccount, fmt.Sprintf("a_%d", n)))
	}
	for n := 1; n <= invoices; n++ {
		g.world.Scopes = append(g.world.Scopes, Scope{
			ID:      authz.ScopeID(typeInvoice, fmt.Sprintf("i_%d", n)),
			Parents: []string{pick(g.rng, g.world.Accounts)},
		})
	}
}
