package listen

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAnUploadThatStallsIsAnswered(t *testing.T) {
	var err error
	server := httptest.NewUnstartedServer(nil)
	server.Config, err = NewServer(ServerOptions{Unread: 50 * time.Millisecond, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusTeapot)
	})})
	if err != nil {
		t.Fatal(err)
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	stalled, end := io.Pipe()
	defer end.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, stalled)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	whole, err := io.ReadAll(answer.Body)
	if err != nil || answer.ProtoMajor != 2 || answer.StatusCode != http.StatusTeapot || string(whole) != "no\n" {
		t.Errorf("%s %d %q: %v", answer.Proto, answer.StatusCode, whole, err)
	}
}
