package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestAChangeEndsWithItsCase(t *testing.T) {
	c := changer{&ground{launcher: &launcher{change: "sleep 60; echo done"}, fill: strings.NewReplacer().Replace}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := c.Change(ctx); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	c.of.change = "echo why; exit 3"
	if err := c.Change(t.Context()); err == nil || !strings.Contains(err.Error(), "why") {
		t.Error(err)
	}
}
