package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// text tells the values as Prometheus text, for whoever compares counts.
func (r *receiver) text(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	plain := strings.NewReplacer(".", "_", "-", "_")
	for _, key := range slices.Sorted(maps.Keys(r.series)) { // those of one name beside each other
		s := r.series[key]
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
			labels = append(labels, fmt.Sprintf("%s=%q", plain.Replace(name), strings.Trim(s.Attributes[name], `"`)))
		}
		fmt.Fprintf(w, "%s_total{%s} %v\n", plain.Replace(s.Name), strings.Join(labels, ","), s.Value)
	}
}
