import { useAsk, useOrg } from '../../api/queries.ts'
import type { Predicate, Prompt, Requestable, Stage } from '../../api/schema.gen.ts'
import { type Asking as Of, memberOf, predicates, valueOf } from '../../domain/asking.ts'
import { a as text } from '../../text/asking.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { Name } from '../../ui/Id.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'

interface Props {
  of: Of
  onChange: (of: Of) => void
}

/** How a role is asked for: who decides, what is asked, for how long. */
export function Asking({ of, onChange }: Props) {
  const set = (now: Partial<Of>) => onChange({ ...of, ...now })
  const stage = (at: number, now: Stage) => set({ stages: of.stages.map((s, i) => (i === at ? now : s)) })
  const prompt = (at: number, now: Prompt) => set({ prompts: of.prompts.map((p, i) => (i === at ? now : p)) })
  return (
    <section className="card stack" aria-label={text.title}>
      <header><h2>{text.title}</h2></header>
      <label><input type="checkbox" checked={of.on} onChange={e => set({ on: e.target.checked })} /> {text.on}</label>
      {!of.on ? <p className="dim">{text.off}</p> : (
        <>
          <div className="stack close">
            <h3>{text.stages}</h3>
            {of.stages.length === 0 && <p className="wrong">{text.noStage}</p>}
            <ol className="list">
              {of.stages.map((s, i) => (
                <li key={i}>
                  <div className="fields grow" role="group" aria-label={text.stage(i + 1)}><StageOf at={i} of={s} onChange={now => stage(i, now)} /></div>
                  <Button small kind="bare" label={text.removeStage(i + 1)} onPress={() => set({ stages: of.stages.filter((_, at) => at !== i) })}>×</Button>
                </li>
              ))}
            </ol>
            <div className="row"><Button onPress={() => set({ stages: [...of.stages, { kind: 'management', layers: 1 }] })}>{text.addStage}</Button></div>
          </div>
          <div className="stack close">
            <h3>{text.prompts}</h3>
            {of.prompts.length === 0 && <p className="dim">{text.noPrompts}</p>}
            <ol className="list">
              {of.prompts.map((p, i) => (
                <li key={i}>
                  <div className="stack close grow" role="group" aria-label={text.prompt(i + 1)}><Question of={p} onChange={now => prompt(i, now)} /></div>
                  <Button small kind="bare" label={text.removePrompt(i + 1)} onPress={() => set({ prompts: of.prompts.filter((_, at) => at !== i) })}>×</Button>
                </li>
              ))}
            </ol>
            <div className="row"><Button onPress={() => set({ prompts: [...of.prompts, { id: '', label: '' }] })}>{text.addPrompt}</Button></div>
          </div>
          <div className="stack close">
            <h3>{text.time}</h3>
            <label><input type="checkbox" checked={of.requireExpiry} onChange={e => set({ requireExpiry: e.target.checked })} /> {text.requireExpiry}</label>
            <div className="fields"><Field label={text.longest} hint={text.longestHint}>{x => <input {...x} type="number" min="0.0001" step="any" value={of.days} onChange={e => set({ days: e.target.value })} />}</Field></div>
          </div>
        </>
      )}
    </section>
  )
}

function StageOf({ at, of, onChange }: { at: number; of: Stage; onChange: (now: Stage) => void }) {
  const kinds = Object.keys(text.kinds)
  const choose = (kind: string) => onChange(kind === 'management' ? { kind, layers: 1 } : kind === 'auto' ? { kind, predicate: { type: 'in_group', groupId: '' } } : { kind, roleId: '' })
  return (
    <>
      <Field label={text.decides(at + 1)}>{x => <select {...x} value={of.kind} onChange={e => choose(e.target.value)}>{kinds.map(k => <option key={k} value={k}>{text.kinds[k]}</option>)}</select>}</Field>
      {of.kind === 'management' && <Field label={text.layers} hint={text.layersHint}>{x => <input {...x} type="number" min="1" step="1" required value={of.layers || ''} onChange={e => onChange({ ...of, layers: Number(e.target.value) })} />}</Field>}
      {of.kind === 'named_approvers' && <OneOf what="roles" label={text.role} hint={text.roleHint} value={of.roleId ?? ''} onChange={roleId => onChange({ ...of, roleId })} />}
      {of.kind === 'auto' && of.predicate && <Rule of={of.predicate} onChange={predicate => onChange({ ...of, predicate })} />}
    </>
  )
}

function Rule({ of, onChange }: { of: Predicate; onChange: (now: Predicate) => void }) {
  const set = (value: string) => onChange({ ...of, [memberOf(of)]: value })
  const label = text.values[of.type] ?? of.type
  return (
    <>
      <Field label={text.rule}>{x => <select {...x} value={of.type} onChange={e => onChange({ type: e.target.value, [memberOf({ type: e.target.value })]: '' })}>{predicates.map(p => <option key={p} value={p}>{text.rules[p]}</option>)}</select>}</Field>
      {of.type === 'in_group' ? <OneOf what="groups" label={label} value={valueOf(of)} onChange={set} /> : (
        <Field label={label}>{x => <input {...x} className="mono" value={valueOf(of)} onChange={e => set(e.target.value)} required autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
      )}
    </>
  )
}

/** The id of a role or a group, looked for by what is typed. */
function OneOf({ what, label, hint, value, onChange }: { what: 'roles' | 'groups'; label: string; hint?: string; value: string; onChange: (id: string) => void }) {
  const org = useOrg()
  const q = useDebounced(value.trim())
  const query = { q, limit: 8 }
  const roles = useAsk('GET /orgs/{org}/org/roles', { path: { org }, query }, { on: what === 'roles', keep: true })
  const groups = useAsk('GET /orgs/{org}/org/groups', { path: { org }, query }, { on: what === 'groups', keep: true })
  const found = (what === 'roles' ? roles.data?.roles : groups.data?.groups) ?? []
  return <Choose label={label} hint={hint} value={value} onChange={onChange} choices={found.map(f => ({ id: f.id, note: f.name }))} mono required />
}

function Question({ of, onChange }: { of: Prompt; onChange: (now: Prompt) => void }) {
  return (
    <>
      <div className="fields">
        <Field label={text.label}>{x => <input {...x} value={of.label} onChange={e => onChange({ ...of, label: e.target.value })} required autoComplete="off" />}</Field>
        <Field label={text.promptId} hint={text.promptIdHint}>{x => <input {...x} className="mono" value={of.id} onChange={e => onChange({ ...of, id: e.target.value })} required autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
        <Field label={text.options} hint={text.optionsHint}>{x => <textarea {...x} rows={2} value={(of.options ?? []).join('\n')} onChange={e => onChange({ ...of, options: e.target.value.split('\n') })} />}</Field>
      </div>
      <label><input type="checkbox" checked={of.required !== false} onChange={e => onChange({ ...of, required: e.target.checked })} /> {text.required}</label>
    </>
  )
}

/** A policy in a sentence, all of it: two that differ are told apart. */
export function Told({ of }: { of: Requestable | null | undefined }) {
  if (!of) return <>{t.roles.notRequestable}</>
  const stages = of.stages.map(s => (s.predicate ? text.passes(text.rules[s.predicate.type] ?? s.predicate.type, valueOf(s.predicate)) : t.stage(s.kind, s.roleId ?? '', s.layers ?? 1)))
  const questions = (of.prompts ?? []).map(p => text.question(p.label, p.id, p.options ?? [], p.required !== false))
  return <Name of={text.told(stages, questions, of.maxDurationMs ? t.days(of.maxDurationMs) : '', of.requireExpiry ?? false)} />
}
