package web

import "net/http"

func (s *service) asks(w http.ResponseWriter, r *http.Request) {
	if !may(r, "docs.files.read") {
		return
	}
}

func (s *service) made() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !may(r, "docs.files.update") {
			return
		}
	}
}

func (s *service) behind() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /behind/list", s.list)
	mux.HandleFunc("PUT /behind/{id}", s.put)
	return requireUser(mux)
}

func register(mux *http.ServeMux, path string, h http.HandlerFunc) { mux.Handle(path, requireUser(h)) }

func Mux() error {
	s := &service{}
	mux := http.NewServeMux()
	mux.Handle("/behind/", s.behind())
	mux.Handle("GET /audit", RequirePermission("docs.audit.read")(http.HandlerFunc(s.audit)))
	mux.HandleFunc("GET /asks", s.asks)
	mux.Handle("PUT /made", s.made())
	register(mux, "/helped", s.list)
	admin := http.NewServeMux()
	admin.HandleFunc("/list", s.list)
	mux.Handle("/admin/", requireUser(http.StripPrefix("/admin", admin)))
	return http.ListenAndServe(":1", mux)
}

func All() error {
	s := &service{}
	all := http.NewServeMux()
	all.HandleFunc("/list", s.list)
	srv := &http.Server{Handler: logged(recovered(requireUser(all)))}
	return srv.ListenAndServe()
}
