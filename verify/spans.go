package verify

import "slices"

// spans are parts of a source of which none lies in another one, in order. Parts that are
// added nest, as syntax does.
type spans [][2]int

// around reports whether one of them holds a part of the source.
func (s spans) around(from, to int) bool {
	i, _ := slices.BinarySearchFunc(s, from, func(span [2]int, at int) int {
		if span[0] <= at {
			return -1
		}
		return 1
	})
	return i > 0 && to <= s[i-1][1]
}

func (s *spans) add(from, to int) {
	if s.around(from, to) {
		return
	}
	i, _ := slices.BinarySearchFunc(*s, from, func(span [2]int, at int) int { return span[0] - at })
	end := i
	for end < len(*s) && (*s)[end][1] <= to {
		end++
	}
	*s = slices.Replace(*s, i, end, [2]int{from, to})
}
