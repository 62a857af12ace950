// Asks a host, through a client that is typed by its own description.
import createClient from "openapi-fetch";
import type { paths as Hosted } from "./generated/hosted.js";
import type { paths as Provider } from "./generated/provider.js";

export async function whoMayRead(base: string, org: string, key: string): Promise<string[]> {
  const hosted = createClient<Hosted>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });
  const { data, error } = await hosted.GET("/orgs/{org}/org/who-can", { params: { path: { org }, query: { key: "docs.files.read" } } });
  if (error) throw new Error(`${error.error.name}: ${error.error.message}`);
  return data.subjects.map((s) => s.subject);
}

export async function mayRead(base: string, secret: string, userId: string): Promise<boolean> {
  const application = createClient<Provider>({ baseUrl: base, headers: { Authorization: `Bearer ${secret}` } });
  const { data, error } = await application.POST("/v1/check", { body: { principal: { userId }, key: "docs.files.read" } });
  if (error) throw new Error(error.error.message);
  return "allowed" in data && data.allowed === true;
}
