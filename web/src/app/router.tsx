import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { queries, sessionQuery } from '../api/queries.ts'
import { Toasts } from '../ui/Toasts.tsx'
import { isFailure } from '../api/errors.ts'
import { Lost, LostAlone } from './lost.tsx'
import { Shell } from './shell.tsx'

type Texts<Name extends string> = { [N in Name]?: string }

/** The texts of an address that a screen knows; others are dropped. */
function texts<const Name extends string>(...names: Name[]) {
  return (given: Record<string, unknown>): Texts<Name> => {
    const known: Texts<Name> = {}
    for (const name of names) {
      const value = given[name]
      if (typeof value === 'string' && value !== '') known[name] = value
    }
    return known
  }
}

const root = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
  notFoundComponent: LostAlone,
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: texts('org', 'returnTo', 'problem', 'request'),
  component: lazyRouteComponent(() => import('../features/sign-in/SignIn.tsx'), 'SignIn'),
})

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ location }) => {
    try {
      await queries.ensureQueryData(sessionQuery)
    } catch (e) {
      if (isFailure(e) && e.status === 401) throw redirect({ to: '/sign-in', search: { returnTo: '/dashboard' + location.href }, replace: true })
      throw e
    }
  },
  errorComponent: lazyRouteComponent(() => import('./unreachable.tsx'), 'Unreachable') as never,
})

const orgs = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: texts('all'),
  component: lazyRouteComponent(() => import('../features/orgs/Orgs.tsx'), 'Orgs'),
})

const me = createRoute({ getParentRoute: () => signedIn, path: '/me', component: lazyRouteComponent(() => import('../features/me/Sessions.tsx'), 'Sessions') })

const host = createRoute({ getParentRoute: () => signedIn, path: '/host', component: lazyRouteComponent(() => import('../features/host/Host.tsx'), 'Host') })

const org = createRoute({ getParentRoute: () => signedIn, path: '/orgs/$org', component: Shell, notFoundComponent: Lost })

const children = [
  createRoute({ getParentRoute: () => org, path: '/', component: lazyRouteComponent(() => import('../features/home/Home.tsx'), 'Home') }),
  createRoute({
    getParentRoute: () => org, path: '/explain', validateSearch: texts('user', 'service', 'key', 'scope'),
    component: lazyRouteComponent(() => import('../features/explain/Explain.tsx'), 'Explain'),
  }),
  createRoute({ getParentRoute: () => org, path: '/people', validateSearch: texts('q', 'active', 'list'), component: lazyRouteComponent(() => import('../features/people/People.tsx'), 'People') }),
  createRoute({
    getParentRoute: () => org, path: '/people/$id', validateSearch: texts('tab', 'way', 'q', 'scope'),
    component: lazyRouteComponent(() => import('../features/people/Person.tsx'), 'Person'),
  }),
  createRoute({ getParentRoute: () => org, path: '/groups', validateSearch: texts('q'), component: lazyRouteComponent(() => import('../features/groups/Groups.tsx'), 'Groups') }),
  createRoute({ getParentRoute: () => org, path: '/new-group', component: lazyRouteComponent(() => import('../features/groups/NewGroup.tsx'), 'NewGroup') }),
  createRoute({ getParentRoute: () => org, path: '/groups/$id', validateSearch: texts('tab'), component: lazyRouteComponent(() => import('../features/groups/Group.tsx'), 'Group') }),
  createRoute({ getParentRoute: () => org, path: '/roles', validateSearch: texts('q'), component: lazyRouteComponent(() => import('../features/roles/Roles.tsx'), 'Roles') }),
  createRoute({ getParentRoute: () => org, path: '/new-role', component: lazyRouteComponent(() => import('../features/roles/NewRole.tsx'), 'NewRole') }),
  createRoute({ getParentRoute: () => org, path: '/roles/$id', validateSearch: texts('tab', 'home', 'q'), component: lazyRouteComponent(() => import('../features/roles/Role.tsx'), 'Role') }),
  createRoute({
    getParentRoute: () => org, path: '/grants', validateSearch: texts('home', 'subject', 'role', 'scope', 'open'),
    component: lazyRouteComponent(() => import('../features/grants/Grants.tsx'), 'Grants'),
  }),
  createRoute({
    getParentRoute: () => org, path: '/grants/new', validateSearch: texts('subject', 'role', 'pattern', 'scope', 'until'),
    component: lazyRouteComponent(() => import('../features/grants/NewGrant.tsx'), 'NewGrant'),
  }),
  createRoute({ getParentRoute: () => org, path: '/grants/many', component: lazyRouteComponent(() => import('../features/grants/Many.tsx'), 'Many') }),
  createRoute({ getParentRoute: () => org, path: '/revokes', validateSearch: texts('home', 'user', 'scope', 'open'), component: lazyRouteComponent(() => import('../features/grants/Revokes.tsx'), 'Revokes') }),
  createRoute({ getParentRoute: () => org, path: '/revokes/new', validateSearch: texts('user', 'pattern', 'scope'), component: lazyRouteComponent(() => import('../features/grants/NewRevoke.tsx'), 'NewRevoke') }),
  createRoute({ getParentRoute: () => org, path: '/resources', validateSearch: texts('home', 'q'), component: lazyRouteComponent(() => import('../features/resources/Resources.tsx'), 'Resources') }),
  createRoute({ getParentRoute: () => org, path: '/resources/$scope', component: lazyRouteComponent(() => import('../features/resources/Resource.tsx'), 'Resource') }),
  createRoute({
    getParentRoute: () => org, path: '/audit', validateSearch: texts('log', 'actor', 'action', 'target', 'subject', 'from', 'to', 'event'),
    component: lazyRouteComponent(() => import('../features/audit/Audit.tsx'), 'Audit'),
  }),
  createRoute({ getParentRoute: () => org, path: '/applications', validateSearch: texts('q', 'state'), component: lazyRouteComponent(() => import('../features/applications/Applications.tsx'), 'Applications') }),
  createRoute({ getParentRoute: () => org, path: '/applications/new', component: lazyRouteComponent(() => import('../features/applications/NewApplication.tsx'), 'NewApplication') }),
  createRoute({
    getParentRoute: () => org, path: '/applications/$id', validateSearch: texts('tab', 'act', 'list', 'subject', 'role', 'user', 'scope', 'state', 'of', 'since', 'q'),
    component: lazyRouteComponent(() => import('../features/applications/Application.tsx'), 'OneApplication'),
  }),
  createRoute({ getParentRoute: () => org, path: '/inbox', validateSearch: texts('open', 'from'), component: lazyRouteComponent(() => import('../features/requests/Inbox.tsx'), 'Inbox') }),
  createRoute({
    getParentRoute: () => org, path: '/requests', validateSearch: texts('list', 'state', 'home', 'who'),
    component: lazyRouteComponent(() => import('../features/requests/Requests.tsx'), 'Requests'),
  }),
  createRoute({ getParentRoute: () => org, path: '/requests/$id', validateSearch: texts('from'), component: lazyRouteComponent(() => import('../features/requests/Request.tsx'), 'OneRequest') }),
  createRoute({ getParentRoute: () => org, path: '/ask', validateSearch: texts('role', 'pattern', 'scope', 'until'), component: lazyRouteComponent(() => import('../features/requests/Ask.tsx'), 'Ask') }),
  createRoute({ getParentRoute: () => org, path: '/seats', validateSearch: texts('q', 'kind', 'state'), component: lazyRouteComponent(() => import('../features/seats/Seats.tsx'), 'Seats') }),
  createRoute({ getParentRoute: () => org, path: '/invite', validateSearch: texts('user', 'kind'), component: lazyRouteComponent(() => import('../features/seats/NewSeat.tsx'), 'NewSeat') }),
  createRoute({ getParentRoute: () => org, path: '/seats/$id', component: lazyRouteComponent(() => import('../features/seats/Seat.tsx'), 'Seat') }),
  createRoute({ getParentRoute: () => org, path: '/keys', validateSearch: texts('kind', 'revoked'), component: lazyRouteComponent(() => import('../features/keys/Keys.tsx'), 'Keys') }),
  createRoute({ getParentRoute: () => org, path: '/keys/new', validateSearch: texts('kind', 'name', 'service', 'namespace', 'until'), component: lazyRouteComponent(() => import('../features/keys/NewKey.tsx'), 'NewKey') }),
  createRoute({ getParentRoute: () => org, path: '/keys/$id', component: lazyRouteComponent(() => import('../features/keys/Key.tsx'), 'Key') }),
  createRoute({ getParentRoute: () => org, path: '/services/$id', component: lazyRouteComponent(() => import('../features/services/Service.tsx'), 'Service') }),
  createRoute({ getParentRoute: () => org, path: '/usage', component: lazyRouteComponent(() => import('../features/usage/Usage.tsx'), 'Usage') }),
  createRoute({ getParentRoute: () => org, path: '/settings', component: lazyRouteComponent(() => import('../features/settings/Settings.tsx'), 'Settings') }),
  createRoute({ getParentRoute: () => org, path: '/catalog', validateSearch: texts('q'), component: lazyRouteComponent(() => import('../features/catalog/Catalog.tsx'), 'Catalog') }),
  createRoute({ getParentRoute: () => org, path: '/registry', component: lazyRouteComponent(() => import('../features/registry/Registry.tsx'), 'Registry') }),
  createRoute({ getParentRoute: () => org, path: '/registry/$ns', validateSearch: texts('from', 'to'), component: lazyRouteComponent(() => import('../features/registry/Namespace.tsx'), 'Namespace') }),
  createRoute({ getParentRoute: () => org, path: '/drift', component: lazyRouteComponent(() => import('../features/drift/Drift.tsx'), 'Drift') }),
  createRoute({ getParentRoute: () => org, path: '/reports', validateSearch: texts('tab', 'home', 'user', 'since', 'at', 'id', 'hash'), component: lazyRouteComponent(() => import('../features/reports/Reports.tsx'), 'Reports') }),
  createRoute({ getParentRoute: () => org, path: '/retained', validateSearch: texts('application', 'actor', 'action', 'target', 'from', 'to', 'event'), component: lazyRouteComponent(() => import('../features/audit/Retained.tsx'), 'Retained') }),
] as const

export const router = createRouter({
  routeTree: root.addChildren([signIn, signedIn.addChildren([orgs, me, host, org.addChildren(children)])]),
  basepath: '/dashboard',
  defaultPreload: false,
  scrollRestoration: true,
  // Addresses as everybody writes them: every value a text.
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: search => {
    const texts = Object.entries(search).filter((e): e is [string, string] => typeof e[1] === 'string' && e[1] !== '')
    const text = new URLSearchParams(texts).toString()
    return text && '?' + text
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
