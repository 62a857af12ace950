package client

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestATableAnswersAsAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table table[int]
		table.reset()
		model := map[cacheKey]int{}
		for n := range rapid.IntRange(0, 400).Draw(t, "operations") {
			key := cacheKey{id: fmt.Sprint(rapid.IntRange(0, 150).Draw(t, "key")), service: rapid.Bool().Draw(t, "service")}
			if _, known := model[key]; known || rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
				if e := table.remove(key); (e != nil) != known || known && e.value != model[key] {
					t.Fatalf("remove(%v) = %v, want %v", key, e, known)
				}
				delete(model, key)
				continue
			}
			table.put(&entry[int]{id: key.id, hash: key.hash(), value: n})
			model[key] = n
		}
		if table.count != len(model) {
			t.Fatalf("count %d, want %d", table.count, len(model))
		}
		seen := 0
		table.each(func(e *entry[int]) {
			seen++
			if want, ok := model[e.key()]; !ok || want != e.value {
				t.Fatalf("each visits %v = %v", e.key(), e.value)
			}
		})
		if seen != len(model) {
			t.Fatalf("each visited %d, want %d", seen, len(model))
		}
		for key, want := range model {
			if e := table.get(key.hash(), key.id); e == nil || e.value != want {
				t.Fatalf("get(%v) = %v, want %d", key, e, want)
			}
		}
	})
}

func TestATableIsReadWhileItGrowsAndShrinks(t *testing.T) {
	var table table[int]
	table.reset()
	fixed := cacheKey{id: "fixed"}
	table.put(&entry[int]{id: fixed.id, hash: fixed.hash(), value: 7})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if e := table.get(fixed.hash(), fixed.id); e == nil || e.value != 7 {
					t.Error("an entry that never left was not found")
					return
				}
			}
		})
	}
	for n := range 5000 {
		key := cacheKey{id: fmt.Sprint(n)}
		table.put(&entry[int]{id: key.id, hash: key.hash(), value: n})
		if n%3 == 0 {
			table.remove(key)
		}
	}
	close(stop)
	readers.Wait()
}

func TestTheLeastRecentlyUsedEntryGoesFirst(t *testing.T) {
	c := newCache(newLogState(), 3, 1000, 0, func(int) []string { return nil })
	keep := func(id string) {
		c.started++
		c.mu.Lock()
		c.store(&flight[int]{key: cacheKey{id: id}, started: c.started})
		c.mu.Unlock()
	}
	hit := func(id string) bool {
		key := cacheKey{id: id}
		_, ok := c.hit(key.hash(), key, 1)
		return ok
	}
	keep("a")
	keep("b")
	keep("c")
	hit("a")
	keep("d")
	for id, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := hit(id); got != want {
			t.Errorf("entry %s kept = %v, want %v", id, got, want)
		}
	}
}
