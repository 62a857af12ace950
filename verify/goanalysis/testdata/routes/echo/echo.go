// Package echo is a service over echo.
package echo

import "github.com/labstack/echo/v4"

func requireUser(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error { return next(c) }
}

func requireKey(key string) echo.MiddlewareFunc { return requireUser }

func list(c echo.Context) error   { return nil }
func create(c echo.Context) error { return nil }

func Server() *echo.Echo {
	e := echo.New()
	e.GET("/health", list)
	e.GET("/open", list) // want `server function "list" \(GET /open\)`
	e.POST("/each", create, requireKey("docs.files.update"))
	api := e.Group("/api", requireUser)
	api.GET("/list", list)
	v2 := api.Group("/v2")
	v2.POST("/create", create)
	free := e.Group("/free")
	free.DELETE("/x", create)      // want `server function "create" \(DELETE /free/x\)`
	e.Add("PUT", "/added", create) // want `server function "create" \(PUT /added\)`
	return e
}

// All asks before everything, whenever it says so.
func All() *echo.Echo {
	e := echo.New()
	e.GET("/x", list)
	e.Use(requireUser)
	return e
}
