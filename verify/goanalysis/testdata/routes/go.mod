module example.com/shop

go 1.26.0

require (
	github.com/gin-gonic/gin v1.0.0
	github.com/go-chi/chi/v5 v5.0.0
	github.com/labstack/echo/v4 v4.0.0
	google.golang.org/grpc v1.0.0
)

replace (
	github.com/gin-gonic/gin => ./stubs/gin
	github.com/go-chi/chi/v5 => ./stubs/chi
	github.com/labstack/echo/v4 => ./stubs/echo
	google.golang.org/grpc => ./stubs/grpc
)
