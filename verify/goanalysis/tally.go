package goanalysis

import "fmt"

// Tally is how the server functions of a run were judged. Those that cannot be
// followed are beside the others.
type Tally struct {
	Gated       int `json:"gated"`
	Exempt      int `json:"exempt"`
	Findings    int `json:"findings"`
	NotFollowed int `json:"notFollowed"`
}

func (t *Tally) add(o Tally) {
	t.Gated += o.Gated
	t.Exempt += o.Exempt
	t.Findings += o.Findings
	t.NotFollowed += o.NotFollowed
}

// Total is how many were judged.
func (t Tally) Total() int { return t.Gated + t.Exempt + t.Findings }

func (t Tally) String() string {
	return fmt.Sprintf("%d server functions: %d gated, %d exempt, %d findings, %d not followed",
		t.Total(), t.Gated, t.Exempt, t.Findings, t.NotFollowed)
}
