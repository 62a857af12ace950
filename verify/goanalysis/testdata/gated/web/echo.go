package web

import "github.com/labstack/echo/v4"

func userOnly(next echo.HandlerFunc) echo.HandlerFunc { return next }
func keyOnly(key string) echo.MiddlewareFunc          { return userOnly }
func create(c echo.Context) error                     { return nil }

func Echo() *echo.Echo {
	e := echo.New()
	api := e.Group("/api", userOnly)
	api.GET("/list", create)
	e.POST("/each", create, keyOnly("docs.files.update"))
	return e
}

func EchoAll() *echo.Echo {
	all := echo.New()
	all.GET("/x", create)
	all.Use(userOnly)
	return all
}
