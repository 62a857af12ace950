package dashboard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/authzhost/authz/host/internal/request"
)

// Base is where the dashboard lies, SignIn its screen that a browser is sent to whose
// sign-in failed.
const (
	Base   = "/dashboard/"
	SignIn = Base + "sign-in"
)

// policy is what a page of the dashboard may do. The hash is that of the one style
// that React Aria puts into a page by itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='; " +
	"img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

type file struct {
	content    []byte
	kind       string
	compressed func() []byte // made when it is asked for first
}

type handler struct {
	index  file
	assets map[string]file // by what follows Base
	secure bool
}

// New serves the files of a build. secure says that browsers come over https.
func New(files fs.FS, secure bool) (http.Handler, error) {
	h := &handler{assets: map[string]file{}, secure: secure}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name != "index.html" && !strings.HasPrefix(name, assets) {
			return err
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s: a file of an unknown type", name)
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		f := file{content: content, kind: kind, compressed: sync.OnceValue(func() []byte { return compress(content) })}
		if name == "index.html" {
			h.index = f
			return nil
		}
		h.assets[name] = f
		return nil
	})
	if err == nil && h.index.content == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("the dashboard's files: %w", err)
	}
	return h, nil
}

// assets is where files lie whose names change with their content.
const assets = "assets/"

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	headers.Set("Content-Security-Policy", policy)
	headers.Set("X-Content-Type-Options", "nosniff")
	headers.Set("Referrer-Policy", "no-referrer")
	headers.Set("Cross-Origin-Opener-Policy", "same-origin")
	headers.Set("Cross-Origin-Resource-Policy", "same-origin")
	headers.Set("Cache-Control", "no-store")
	if h.secure {
		headers.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		headers.Set("Allow", "GET, HEAD")
		http.Error(w, "GET or HEAD only", http.StatusMethodNotAllowed)
		return
	}
	name, below := strings.CutPrefix(request.Path(r), Base)
	if !below {
		headers.Set("Location", Base)
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	f := h.index
	if strings.HasPrefix(name, assets) {
		var ok bool
		if f, ok = h.assets[name]; !ok {
			http.NotFound(w, r)
			return
		}
		headers.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	f.serve(w, r)
}

// serve sends the file, compressed to who accepts it.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	body := f.content
	w.Header().Set("Vary", "Accept-Encoding")
	if accepts(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = f.compressed()
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // a browser that left needs no answer
	}
}

// accepts tells whether the client takes gzip.
func accepts(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, err := mime.ParseMediaType(part)
		if err != nil || coding != "gzip" {
			continue
		}
		weight, err := strconv.ParseFloat(parameters["q"], 64)
		return err != nil || weight > 0
	}
	return false
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that there is
	_, _ = io.Copy(z, bytes.NewReader(content))             // into memory
	_ = z.Close()
	return out.Bytes()
}
