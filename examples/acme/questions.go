package acme

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// QuestionCount is how many questions there are; DecidingCount of them name the
// one row that decides.
const (
	QuestionCount = 500
	DecidingCount = 50
)

// Question is one check with the answer that the rows give once the world is
// loaded. Every scope is one the world records, or "*".
type Question struct {
	Principal authz.Principal
	Key       string
	Scope     string
	Want      bool
	Why       string

	// Decides lists the factors that decide the question, each alone: with that
	// kind of rows, or that rule, out of the world the answer is the other one.
	Decides []Factor

	// Grants and Revokes are the indices in the world of the rows that match on
	// the scope's chain, ascending: what explain names, where the user is active
	// or not. ImpliedBy are the rows further down that imply an answer of yes.
	Grants, Revokes, ImpliedBy []int

	// Deciding names the single row whose deletion changes the answer, for
	// DecidingCount of the questions. No two share it, and each change is
	// independent of which of the others have been deleted before.
	Deciding Deciding
}

// Deciding names one row of the world by its index: a grant or a revoke, or
// neither for a question that names no deciding row.
type Deciding struct{ GrantIndex, RevokeIndex *int }

// Row reports whether a deciding row is named.
func (d Deciding) Row() bool { return d.GrantIndex != nil || d.RevokeIndex != nil }

// Questions draws the questions of a generated world, always the same. The first
// is the quickstart's, and is allowed. It panics on a world too poor to ask all
// kinds of question about, which none of Generate is.
func Questions(w *World) []Question {
	s := newSampler(rand.New(rand.NewPCG(seedHigh, seedLow+1)), w, permissions())
	asked := map[ask]bool{}
	questions := []Question{s.question(ask{userID: strings.TrimPrefix(quickstartUser, "user:"), key: "docs.files.update_file", scope: quickstartDoc},
		"an editor of the folder may edit the document")}
	asked[ask{userID: questions[0].Principal.UserID, key: questions[0].Key, scope: questions[0].Scope}] = true
	for _, kind := range aims {
		questions = append(questions, s.pursue(kind, asked)...)
	}
	s.rng.Shuffle(len(questions)-1, func(i, j int) {
		questions[i+1], questions[j+1] = questions[j+1], questions[i+1]
	})
	s.nameDecidingRows(questions)
	return questions
}

// maxDraws bounds how long one aim looks for its questions.
const maxDraws = 2_000_000

func (s *sampler) pursue(kind aim, asked map[ask]bool) (found []Question) {
	for draws := 0; len(found) < kind.count; draws++ {
		if draws == maxDraws {
			panic("acme: the world has too few questions of the kind: " + kind.why)
		}
		a, ok := kind.draw(s)
		if !ok || asked[a] {
			continue
		}
		got := s.answer(a, removal{})
		if got.allowed != kind.want || kind.keep != nil && !kind.keep(s, a, got) ||
			kind.factor != "" && !s.decides(kind.factor, a, got.allowed) {
			continue
		}
		asked[a] = true
		found = append(found, s.question(a, kind.why))
	}
	return found
}

func (s *sampler) question(a ask, why string) Question {
	got := s.answer(a, removal{})
	q := Question{Principal: authz.Principal{UserID: a.userID, ServiceID: a.serviceID}, Key: a.key, Scope: a.scope,
		Want: got.allowed, Decides: s.deciding(a, got.allowed), Grants: got.grants, Revokes: got.revokes, ImpliedBy: got.impliedBy}
	for _, rows := range [][]int{q.Grants, q.Revokes, q.ImpliedBy} {
		slices.Sort(rows)
	}
	q.Why = why
	if len(q.Decides) > 0 {
		q.Why += fmt.Sprintf(" (decided by: %s)", joinFactors(q.Decides))
	}
	return q
}

func (q Question) ask() ask {
	return ask{userID: q.Principal.UserID, serviceID: q.Principal.ServiceID, key: q.Key, scope: q.Scope}
}

// nameDecidingRows marks DecidingCount questions whose answer hangs on a single
// row, at most as many grants as leave room for revokes.
func (s *sampler) nameDecidingRows(questions []Question) {
	const maxGrants = DecidingCount - 22
	var chosen []*Question
	deleted := deletions{grants: map[int]bool{}, revokes: map[int]bool{}}
	principals := map[authz.Principal]bool{}
	grants := 0
	for i := range questions {
		q := &questions[i]
		candidate := q.onlyRow()
		if len(chosen) == DecidingCount || !candidate.Row() || principals[q.Principal] ||
			candidate.GrantIndex != nil && grants == maxGrants || deleted.has(candidate) {
			continue
		}
		q.Deciding = candidate
		deleted.add(candidate)
		if !s.independent(append(chosen, q), deleted) {
			q.Deciding = Deciding{}
			deleted.drop(candidate)
			continue
		}
		chosen = append(chosen, q)
		principals[q.Principal] = true
		if candidate.GrantIndex != nil {
			grants++
		}
	}
	if len(chosen) < DecidingCount {
		panic(fmt.Sprintf("acme: only %d questions hang on a single row", len(chosen)))
	}
}

// onlyRow names the one row behind an answer.
func (q *Question) onlyRow() (d Deciding) {
	if behind := append(slices.Clone(q.Grants), q.ImpliedBy...); q.Want && len(behind) == 1 {
		d.GrantIndex = &behind[0]
	} else if !q.Want && len(q.Revokes) == 1 {
		row := q.Revokes[0]
		d.RevokeIndex = &row
	}
	return d
}

// independent reports whether each question's own row turns its answer, both
// when only that row is deleted and when all are, and whether deleting all the
// others leaves the answer alone.
func (s *sampler) independent(chosen []*Question, all deletions) bool {
	for _, q := range chosen {
		own := deletions{grants: map[int]bool{}, revokes: map[int]bool{}}
		own.add(q.Deciding)
		all.drop(q.Deciding)
		kept := s.answer(q.ask(), all.removal()).allowed == q.Want
		all.add(q.Deciding)
		if !kept || s.answer(q.ask(), own.removal()).allowed == q.Want || s.answer(q.ask(), all.removal()).allowed == q.Want {
			return false
		}
	}
	return true
}

// deletions is a set of rows that are gone.
type deletions struct{ grants, revokes map[int]bool }

func (d deletions) add(row Deciding)  { d.set(row, true) }
func (d deletions) drop(row Deciding) { d.set(row, false) }

func (d deletions) set(row Deciding, gone bool) {
	if row.GrantIndex != nil {
		d.grants[*row.GrantIndex] = gone
	}
	if row.RevokeIndex != nil {
		d.revokes[*row.RevokeIndex] = gone
	}
}

func (d deletions) has(row Deciding) bool {
	return row.GrantIndex != nil && d.grants[*row.GrantIndex] || row.RevokeIndex != nil && d.revokes[*row.RevokeIndex]
}

func (d deletions) removal() removal {
	return removal{grant: func(i int) bool { return d.grants[i] }, revoke: func(i int) bool { return d.revokes[i] }}
}
