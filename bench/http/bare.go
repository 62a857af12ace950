package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// serveBare is what a check cannot cost less than: net/http, the same JSON read,
// an answer written. It prints its address and serves until it is told to stop.
func serveBare(ctx context.Context, _ options) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Principal struct{ UserID string }
			Key       string
			Scope     string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"allowed":true}`)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Println(listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
