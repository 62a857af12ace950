module github.com/authzhost/authz

go 1.26
