package web

import (
	"embed"
	"io/fs"
)

//go:generate go run ../internal/openapi/generate typescript src/api/schema.gen.ts

//go:embed all:dist
var dist embed.FS

// Files are the files of the built dashboard: index.html and assets.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return files
}
