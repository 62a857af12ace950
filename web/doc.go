// Package web carries the dashboard: a browser application over the hosted API, built
// by Vite into dist, which is committed, so that Go programs are built without Node.
// Its sources lie beside it ([docs/dashboard.md]); this package only embeds the result
// and holds it, in tests, to the sources and to the description of the API.
//
// [docs/dashboard.md]: https://github.com/authzhost/authz/blob/main/docs/dashboard.md
package web
