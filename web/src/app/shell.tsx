import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Button as AriaButton, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { follow } from '../api/changes.ts'
import { queries, useAsk, useMe, useOrg, useSession } from '../api/queries.ts'
import type { ViewAs } from '../api/schema.gen.ts'
import { signOut } from '../api/signing.ts'
import { viewAs } from '../api/preview.ts'
import { visible } from '../domain/visible.ts'
import icon from '../icon.svg'
import { t } from '../text/en.ts'
import { Button } from '../ui/Button.tsx'
import { Name } from '../ui/Id.tsx'
import { setTheme, useTheme } from '../ui/settings.ts'
import { Failed } from '../ui/States.tsx'
import { Commands } from './commands.tsx'
import { places } from './places.ts'
import { Shortcuts } from './shortcuts.tsx'

/** What every screen of an org stands in. */
export function Shell() {
  const org = useOrg()
  const [open, setOpen] = useState(false)
  const [goTo, setGoTo] = useState(false)
  const [help, setHelp] = useState(false)
  const path = useRouterState({ select: s => s.location.pathname })
  const main = useRef<HTMLElement>(null)
  const before = useRef(path)
  useEffect(() => {
    setOpen(false)
    if (before.current !== path) main.current?.focus({ preventScroll: true })
    before.current = path
  }, [path])
  useEffect(() => follow(org, queries, () => void queries.invalidateQueries({ queryKey: ['session'] })), [org])
  const one = useAsk('GET /orgs/{org}', { path: { org } })
  const me = useMe()
  return (
    <>
      <a className="button hidden-until-focus" href="#main">{t.shell.skip}</a>
      <div className="shell">
        <div className="topbar">
          <Button kind="bare" onPress={() => setOpen(!open)} expanded={open}>{t.shell.menu}</Button>
          <span className="grow cut"><Name of={one.data?.org.name ?? org} /></span>
          <Button small onPress={() => setGoTo(true)}>{t.commands.open}</Button>
        </div>
        <div className={open ? 'side open' : 'side'}>
          <div className="brand">
            <img className="mark" src={icon} alt="" />
            <Link to="/" search={{ all: '1' }} className="cut" aria-label={t.shell.orgs(one.data?.org.name ?? org)}><Name of={one.data?.org.name ?? org} /></Link>
          </div>
          <Button wide onPress={() => setGoTo(true)}><span className="grow start">{t.commands.open}</span><kbd>Ctrl K</kbd></Button>
          <nav aria-label={t.shell.navigation}>
            {places.map(group => (
              <div key={group.title}>
                {group.title && <h2>{group.title}</h2>}
                <ul>
                  {group.items.map(item => (
                    <li key={item.to}><Link to={item.to} params={{ org }} activeOptions={{ exact: item.to === '/orgs/$org', includeSearch: false }}>{item.label}</Link></li>
                  ))}
                </ul>
              </div>
            ))}
          </nav>
          <div className="end"><Account onHelp={() => setHelp(true)} /></div>
        </div>
        <main id="main" ref={main} tabIndex={-1}>
          {me.data?.viewAs && <Preview org={org} of={me.data.viewAs} />}
          {me.data?.orgRoot.home === 'none' && <div className="banner">{t.shell.noRoot} <Link to="/orgs/$org/applications" params={{ org }}>{t.places.applications}</Link></div>}
          {me.data && me.data.orgRoot.home !== 'none' && !me.data.orgRoot.reachable && <div className="banner" role="alert">{t.shell.unreachable(me.data.orgRoot.application ?? '')}</div>}
          {one.error ? <div className="page"><Failed of={one.error} retry={() => void one.refetch()}><Link className="button small" to="/" search={{ all: '1' }}>{t.shell.otherOrgs}</Link></Failed></div> : <Outlet />}
        </main>
      </div>
      <Commands isOpen={goTo} onOpenChange={setGoTo} />
      <Shortcuts isOpen={help} onOpenChange={setHelp} onGoTo={() => setGoTo(true)} />
    </>
  )
}

/** Says through whose eyes the reader looks, on every screen, and leaves with one press. */
function Preview({ org, of }: { org: string; of: ViewAs }) {
  const [error, setError] = useState<unknown>(null)
  async function leave() {
    try {
      await viewAs(org, null)
    } catch (failed) {
      setError(failed)
    }
  }
  const who = of.userId ?? t.shell.previewRole(of.roleId ?? '')
  return (
    <div className="banner row far" role="status">
      <span>{t.shell.previewing(visible(who))}</span>
      {error !== null && <Failed of={error} />}
      <Button small onPress={() => void leave()}>{t.shell.leavePreview}</Button>
    </div>
  )
}

function Account({ onHelp }: { onHelp: () => void }) {
  const theme = useTheme()
  const session = useSession()
  const navigate = useNavigate()
  const next = { system: 'light', light: 'dark', dark: 'system' } as const
  async function leave() {
    await signOut()
    await navigate({ to: '/sign-in' })
  }
  return (
    <MenuTrigger>
      <AriaButton className="button bare wide">
        <span className="grow cut start"><Name of={session.data?.session.userId ?? ''} /></span>
        <span className="dim" aria-hidden="true">⋯</span>
      </AriaButton>
      <Popover className="popover" placement="top start">
        <Menu
          aria-label={t.shell.account}
          onAction={key => {
            if (key === 'theme') setTheme(next[theme])
            if (key === 'help') onHelp()
            if (key === 'sessions') void navigate({ to: '/me' })
            if (key === 'host') void navigate({ to: '/host' })
            if (key === 'orgs') void navigate({ to: '/', search: { all: '1' } })
            if (key === 'out') void leave()
          }}
        >
          <MenuItem id="orgs" className="option">{t.shell.otherOrgs}</MenuItem>
          <MenuItem id="sessions" className="option">{t.shell.sessions}</MenuItem>
          {session.data?.mayReadHost && <MenuItem id="host" className="option">{t.shell.host}</MenuItem>}
          <MenuItem id="theme" className="option">{t.shell.theme(theme)}</MenuItem>
          <MenuItem id="help" className="option"><span>{t.shortcuts.title}</span><kbd>?</kbd></MenuItem>
          <MenuItem id="out" className="option">{t.shell.signOut}</MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
