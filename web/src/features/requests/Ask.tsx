import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { call } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { useOnce } from '../../api/once.ts'
import { queries, useOrg, useVocabulary } from '../../api/queries.ts'
import type { Prompt } from '../../api/schema.gen.ts'
import { type AskedType, named, type Vocabulary } from '../../domain/catalog.ts'
import { typeOf } from '../../domain/scopes.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name, ScopeName, Time, What } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { Empty, Failed, Loaded } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { visible } from '../../domain/visible.ts'
import { Given } from './Facts.tsx'
import { Stages } from './Stages.tsx'

/** Asks for what the organization says may be asked for. */
export function Ask() {
  const words = useVocabulary()
  return (
    <Page title={t.ask.title} lead={t.ask.lead}>
      <Loaded of={words}>
        {w => (w.roles.length || w.types.length ? <Form words={w} /> : <Empty title={t.ask.none}><p>{t.ask.noneHint}</p></Empty>)}
      </Loaded>
    </Page>
  )
}

interface Asked {
  roleId?: string
  pattern?: string
  scope: string
  proposedExpiresAt?: number
  justification: Record<string, string>
}

function Form({ words }: { words: Vocabulary }) {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/ask' })
  const navigate = useNavigate({ from: '/orgs/$org/ask' })
  const once = useOnce()
  const [by, setBy] = useState<'role' | 'pattern'>(search.pattern || !words.roles.length ? 'pattern' : 'role')
  const [role, setRole] = useState(search.role ?? '')
  const [pattern, setPattern] = useState(search.pattern ?? '')
  const [scope, setScope] = useState(search.scope === '*' ? '' : (search.scope ?? ''))
  const [until, setUntil] = useState(search.until ?? '')
  const [answers, setAnswers] = useState<Record<string, string>>({})
  const [wrong, setWrong] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [reviewed, setReviewed] = useState<Asked | null>(null)
  const asked = words.roles.find(r => r.id === role.trim())
  const type = words.types.find(x => x.type === typeOf(scope.trim()))
  const types = words.types.map(x => x.type)
  const policy = by === 'role' ? asked?.requestable : type?.policy
  const prompts = policy?.prompts ?? []

  function review(e: FormEvent) {
    e.preventDefault()
    if (by === 'role' && !asked) return setWrong(t.ask.notRole)
    if (by === 'pattern' && !type) return setWrong(t.ask.notType(types))
    const what = by === 'role' ? { roleId: role.trim() } : { pattern: pattern.trim() }
    const given = prompts.flatMap(p => (answers[p.id]?.trim() ? [[p.id, answers[p.id]!.trim()] as const] : []))
    setReviewed({ ...what, scope: scope.trim() || '*', ...(until ? { proposedExpiresAt: new Date(until).getTime() } : {}), justification: Object.fromEntries(given) })
    void navigate({ search: { ...(by === 'role' ? { role } : { pattern }), scope, until }, replace: true })
  }

  async function send() {
    if (!reviewed) return
    setBusy(true)
    setError(null)
    try {
      const made = await once(reviewed, key => call('POST /orgs/{org}/requests', { path: { org }, body: reviewed }, { key }))
      say(made.request.state === 'approved' ? t.ask.given : made.request.state === 'denied' ? t.ask.refused : t.ask.sent)
      void queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
      void navigate({ to: '/orgs/$org/requests/$id', params: { org, id: made.request.id }, search: made.application ? { from: made.application } : {} })
    } catch (failed) {
      setError(failed)
    }
    setBusy(false)
  }

  function back() {
    setReviewed(null)
    setError(null)
  }

  const untilHint = policy?.maxDurationMs ? (policy.requireExpiry ? t.ask.untilRequiredMost : t.ask.untilMost)(t.days(policy.maxDurationMs)) : policy?.requireExpiry ? t.ask.untilRequired : t.give.untilHint
  return (
    <>
      {error !== null && <Failed of={error}>{isFailure(error) && error.unknown && <span>{t.give.unknown}</span>}</Failed>}
      {reviewed ? (
        <section className="card stack measure" aria-label={t.ask.reviewTitle}>
          <header><h2>{t.ask.reviewTitle}</h2></header>
          <Plan steps={[{ sign: '+', text: <><What of={reviewed} /> {t.explain.to} <strong>{t.ask.you}</strong> {reviewed.scope === '*' ? t.everywhere : <>{t.explain.at} <ScopeName of={reviewed.scope} /></>}{reviewed.proposedExpiresAt ? <> {t.give.until} <Time at={reviewed.proposedExpiresAt} /></> : <span className="dim">, {policy?.maxDurationMs ? t.ask.longest : t.give.forever}</span>}</> }]} />
          <Given org={org} roleId={reviewed.roleId ?? ''} patterns={reviewed.pattern ? [reviewed.pattern] : null} />
          {Object.keys(reviewed.justification).length > 0 && (
            <dl className="facts">{prompts.filter(p => reviewed.justification[p.id]).map(p => <div className="pair" key={p.id}><dt><Name of={p.label} /></dt><dd><Name of={reviewed.justification[p.id]!} /></dd></div>)}</dl>
          )}
          <div><h3>{t.ask.decides}</h3><Stages of={{ stages: policy?.stages ?? [] }} /></div>
          <div className="row"><Button kind="main" busy={busy} onPress={() => void send()}>{t.ask.submit}</Button><Button onPress={back}>{t.ask.back}</Button></div>
        </section>
      ) : (
        <form className="card form measure" onSubmit={review}>
          {words.roles.length > 0 && words.types.length > 0 && (
            <fieldset className="choice">
              <legend className="label">{t.ask.what}</legend>
              <label><input type="radio" name="by" checked={by === 'role'} onChange={() => (setWrong(null), setBy('role'))} /> {t.ask.byRole}</label>
              <label><input type="radio" name="by" checked={by === 'pattern'} onChange={() => (setWrong(null), setBy('pattern'))} /> {t.ask.byPattern}</label>
            </fieldset>
          )}
          {by === 'role' ? (
            <Choose label={t.ask.role} hint={wrong ? <span className="wrong">{wrong}</span> : asked?.description && <Name of={asked.description} />} value={role} onChange={v => (setWrong(null), setRole(v))} choices={words.roles.map(r => ({ id: r.id, note: r.name }))} required />
          ) : (
            <Choose label={t.ask.pattern} hint={type && type.patterns.length > 0 && t.ask.ceiling(type.patterns.map(visible))} value={pattern} onChange={setPattern} choices={keysOf(words, type ? [type] : words.types)} mono required />
          )}
          <div className="fields">
            <Choose label={t.grants.scope} hint={by === 'role' ? t.give.scopeHint : wrong ? <span className="wrong">{wrong}</span> : t.ask.scopeOfType(types)} value={scope} onChange={v => (setWrong(null), setScope(v))} choices={by === 'pattern' && !scope.includes(':') ? types.map(id => ({ id: id + ':' })) : []} placeholder={by === 'role' ? t.explain.scopeHint : undefined} mono required={by === 'pattern'} />
            <Field label={t.grants.until} hint={untilHint}>{a => <input {...a} type="datetime-local" value={until} onChange={e => setUntil(e.target.value)} required={policy?.requireExpiry} />}</Field>
          </div>
          {prompts.length > 0 && (
            <div className="stack close">
              <h3>{t.ask.why}</h3>
              {prompts.map(p => <Answer key={p.id} prompt={p} value={answers[p.id] ?? ''} onChange={v => setAnswers(a => ({ ...a, [p.id]: v }))} />)}
            </div>
          )}
          {policy && <div><h3>{t.ask.decides}</h3><Stages of={policy} /></div>}
          <div className="row"><Button kind="main" type="submit">{t.ask.review}</Button></div>
        </form>
      )}
    </>
  )
}

/** Keys that may be asked for at scopes of these types, with the patterns that bound them. */
function keysOf(words: Vocabulary, types: AskedType[]) {
  const keys = new Map<string, string>()
  for (const { type, patterns } of types) {
    for (const p of patterns) if (p.endsWith('*')) keys.set(p, '')
    const leaves = patterns.length ? patterns.flatMap(p => named(words, p)) : words.leaves
    for (const l of leaves) if (l.scopes.includes(type)) keys.set(l.key, l.description)
  }
  return [...keys].map(([id, note]) => ({ id, note }))
}

function Answer({ prompt: p, value, onChange }: { prompt: Prompt; value: string; onChange: (value: string) => void }) {
  const required = p.required !== false
  return (
    <Field label={visible(p.label)} hint={required ? null : t.ask.optional}>
      {a => p.kind === 'select' ? (
        <select {...a} className="input" value={value} onChange={e => onChange(e.target.value)} required={required}>
          <option value="">{t.ask.choose}</option>
          {p.options?.map(o => <option key={o} value={o}>{visible(o)}</option>)}
        </select>
      ) : <textarea {...a} value={value} onChange={e => onChange(e.target.value)} required={required} maxLength={4096} />}
    </Field>
  )
}
