module github.com/authzhost/authz/internal/prose

go 1.26

require github.com/yuin/goldmark v1.8.7
