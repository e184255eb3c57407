import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { useTimeWords } from "../lib/useTimeWords";
import { useAppState } from "../state/context";
import { Field, Ready } from "./parts";
import { useRequests } from "./requests";
import type { UsageReport, UsageSum } from "./types";
import styles from "./settings.module.css";
import figures from "./figures.module.css";

const PERIODS_DAYS = [7, 30, 90, 365] as const;

export default function Usage() {
  const { t } = useTranslation("settings");
  const { chats } = useAppState("chats");
  const requests = useRequests();
  const [days, setDays] = useState<number>(30);
  const [chatId, setChatId] = useState<string | null>(null);
  const loaded = useLoaded(["usage", days, chatId], () => requests.usage(days, chatId));
  return (
    <>
      <div className={styles.fields}>
        <Field label={t("usage.period")}>
          {(id) => (
            <select id={id} value={days} onChange={(event) => setDays(Number(event.target.value))}>
              {PERIODS_DAYS.map((period) => (
                <option key={period} value={period}>
                  {t("days", { count: period })}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("usage.chat")}>
          {(id) => (
            <select id={id} value={chatId ?? ""} onChange={(event) => setChatId(event.target.value || null)}>
              <option value="">{t("usage.allChats")}</option>
              {chats.map((chat) => (
                <option key={chat.id} value={chat.id}>
                  {chat.title || t("approvals.untitled")}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Ready loaded={loaded}>{(report) => <Report report={report} days={days} />}</Ready>
    </>
  );
}

function Report({ report, days }: { report: UsageReport; days: number }) {
  const { t } = useTranslation("settings");
  const { figure, cost } = useTimeWords();
  return (
    <>
      <div className={figures.figures}>
        <Figures title={t("usage.today")} sum={report.today} />
        <Figures title={t("days", { count: days })} sum={report.total} />
      </div>
      {report.days.length === 0 ? <p className={styles.nothing}>{t("usage.none")}</p> : <DayBars report={report} days={days} />}
      {report.models.length > 0 && (
        <div className={figures.sheet} tabIndex={0} role="region" aria-label={t("usage.byModel")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("usage.model")}</th>
                <th scope="col">{t("usage.calls")}</th>
                <th scope="col">{t("usage.read")}</th>
                <th scope="col">{t("usage.cached")}</th>
                <th scope="col">{t("usage.written")}</th>
                <th scope="col">{t("usage.cost")}</th>
              </tr>
            </thead>
            <tbody>
              {report.models.map((model) => (
                <tr key={`${model.subscription}/${model.model}`}>
                  <th scope="row">
                    {model.model} <span className="hint">{model.subscription}</span>
                  </th>
                  <td>{figure(model.calls)}</td>
                  <td>{figure(model.input_tokens)}</td>
                  <td>{figure(model.cache_read_tokens)}</td>
                  <td>{figure(model.output_tokens)}</td>
                  <td>{isPriced(model) ? cost(model.cost_micros) : t("usage.unknownCost")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className="hint">{t("usage.note")}</p>
    </>
  );
}

/** True if the cost is meaningful: tokens without a cost belong to a model whose price is not known. */
function isPriced({ cost_micros, calls }: Pick<UsageSum, "cost_micros" | "calls">): boolean {
  return cost_micros > 0 || calls === 0;
}

function Figures({ title, sum }: { title: string; sum: UsageSum }) {
  const { t } = useTranslation("settings");
  const { figure, cost } = useTimeWords();
  return (
    <div className={`${styles.card} ${figures.figure}`}>
      <p className="hint">{title}</p>
      <p className={figures.large}>{isPriced(sum) ? cost(sum.cost_micros) : t("usage.unknownCost")}</p>
      <p className="hint">
        {t("usage.sum", {
          calls: figure(sum.calls, true),
          read: figure(sum.input_tokens, true),
          written: figure(sum.output_tokens, true),
        })}
      </p>
    </div>
  );
}

/** A bar for every day of the period: its cost, or its tokens if no price is known. */
function DayBars({ report, days }: { report: UsageReport; days: number }) {
  const { t } = useTranslation("settings");
  const { figure, cost } = useTimeWords();
  const priced = report.total.cost_micros > 0;
  const known = new Map(report.days.map((day) => [day.day, day]));
  const worth = (sum: UsageSum | undefined) => (sum === undefined ? 0 : priced ? sum.cost_micros : sum.input_tokens + sum.output_tokens);
  const words = (value: number) => (priced ? cost(value) : t("usage.tokens", { tokens: figure(value) }));
  const all = lastDays(days);
  const highest = Math.max(1, ...all.map((day) => worth(known.get(day))));
  return (
    <figure className={figures.bars}>
      <figcaption>{priced ? t("usage.costByDay") : t("usage.tokensByDay")}</figcaption>
      <ul style={{ gridTemplateColumns: `repeat(${all.length}, minmax(0, 1fr))` }}>
        {all.map((day) => {
          const value = worth(known.get(day));
          return (
            <li key={day} title={`${day}: ${words(value)}`}>
              <span className={figures.bar} style={{ height: `${(100 * value) / highest}%` }} aria-hidden="true" />
              {value > 0 && <span className="unseen">{`${day}: ${words(value)}`}</span>}
            </li>
          );
        })}
      </ul>
      <p className={`hint ${figures.ends}`} aria-hidden="true">
        <span>{all[0]}</span>
        <span>{all.at(-1)}</span>
      </p>
    </figure>
  );
}

/** The days of the server's calendar, which is UTC's, oldest first. */
function lastDays(count: number): string[] {
  const dayMs = 86_400_000;
  return Array.from({ length: count }, (_, index) => new Date(Date.now() - (count - 1 - index) * dayMs).toISOString().slice(0, 10));
}
