// Command counts tells, as Prometheus text at /NAME, how many checks stand in the file
// NAME.jsonl of a folder, and in the one before it. It reads the files and knows nothing
// of the sink that wrote them: authz-conformance holds what the sink said to it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/authzhost/authz/sdk/metrics"
)

func main() {
	dir := flag.String("dir", ".", "the folder")
	listen := flag.String("listen", "127.0.0.1:0", "host:port; where it is stands on standard output")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, handler(*dir)))
}

var plain = regexp.MustCompile(`^[a-z0-9]+$`)

func handler(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !plain.MatchString(name) {
			http.NotFound(w, r)
			return
		}
		sums := map[string]float64{}
		for _, file := range []string{name + ".jsonl.1", name + ".jsonl"} {
			if err := add(sums, filepath.Join(dir, file)); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		fmt.Fprintln(w, "# TYPE authz_checks_total counter")
		for labels, sum := range sums {
			fmt.Fprintf(w, "authz_checks_total{%s} %v\n", labels, sum)
		}
	})
	return mux
}

// add counts what the lines of a file say. A last line without its end was not taken.
func add(sums map[string]float64, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var w metrics.Window
		if err = errors.Join(err, json.Unmarshal(line, &w)); err != nil {
			return err
		}
		for _, c := range w.Checks {
			sums[label("application", w.Application)+","+label("permission", c.Permission)+","+label("decision", string(c.Decision))] += c.Estimated
		}
	}
}

var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string { return name + `="` + escaped.Replace(value) + `"` }
