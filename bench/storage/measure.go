package main

import (
	"slices"
	"time"
)

// Spread is what many measurements of one thing took.
type Spread struct {
	P50, P99 time.Duration
	N        int
}

// measure times f n times, one after the other.
func measure(n int, f func(i int) error) (Spread, error) {
	took := make([]time.Duration, 0, n)
	for i := range n {
		start := time.Now()
		if err := f(i); err != nil {
			return Spread{}, err
		}
		took = append(took, time.Since(start))
	}
	return spread(took), nil
}

// turn is how many measurements of one thing are taken before the next thing's.
const turn = 50

// alternate times several things in short turns, so that what else the machine
// does falls on all of them alike, and each is measured at work, not just woken.
func alternate(n int, fs ...func(i int) error) ([]Spread, error) {
	took := make([][]time.Duration, len(fs))
	for from := 0; from < n; from += turn {
		for k, f := range fs {
			for i := from; i < min(from+turn, n); i++ {
				start := time.Now()
				if err := f(i); err != nil {
					return nil, err
				}
				took[k] = append(took[k], time.Since(start))
			}
		}
	}
	spreads := make([]Spread, len(fs))
	for k := range fs {
		spreads[k] = spread(took[k])
	}
	return spreads, nil
}

func spread(took []time.Duration) Spread {
	slices.Sort(took)
	return Spread{P50: took[len(took)/2], P99: took[len(took)*99/100], N: len(took)}
}
