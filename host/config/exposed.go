package config

import "github.com/authzhost/authz/host/files"

// exposure is a file that other users may write, or a secret that they may read.
type exposure struct {
	path []string // of the key that names it; nil is the configuration file itself
	err  error
}

// judge notes what is exposed. What cannot be looked at cannot be opened either,
// which is told where it is.
func (l *loader) judge(path []string, file string, use files.Use) {
	if err := files.Judge(file, use); files.IsExposed(err) {
		l.exposed = append(l.exposed, exposure{path, err})
	}
}

// settle refuses what is exposed, or hands it on for the log where that is allowed.
// Whoever may write the configuration file could also allow it there: for the file
// itself only what was set elsewhere counts.
func (l *loader) settle(c *Config) {
	for _, e := range l.exposed {
		switch {
		case e.path == nil && !(c.AllowsInsecure() && l.origin([]string{insecureKey}).text):
			l.problem(nil, "%v; or set AUTHZ_INSECURE_PERMISSIONS=%s in the environment", e.err, InsecureAllow)
		case !c.AllowsInsecure():
			l.problem(e.path, "%v; or set %s: %s", e.err, insecureKey, InsecureAllow)
		default:
			c.Exposed = append(c.Exposed, e.err)
		}
	}
}

const insecureKey = "insecure_permissions"
