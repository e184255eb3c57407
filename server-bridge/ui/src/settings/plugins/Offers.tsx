import { type FormEvent, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { useAppState } from "../../state/context";
import { plainly } from "../hookTexts";
import { Field, Problem, Problems, Ready } from "../parts";
import { useRequests } from "../requests";
import type { Marketplace, MarketplacePlugin, ShelfPlugin } from "../types";
import styles from "../settings.module.css";

/** Called with the source of a plugin that the user wants to inspect. */
type OnChosen = (source: string) => void;

/** The plugins on offer: the user's marketplaces and the server's shelf, each loaded when it is unfolded. */
export function Offers({ onChosen }: { onChosen: OnChosen }) {
  const { t } = useTranslation("settings");
  return (
    <>
      <Fold title={t("plugins.markets.title")}>{() => <Marketplaces onChosen={onChosen} />}</Fold>
      <Fold title={t("plugins.shelf.title")}>{() => <Shelf onChosen={onChosen} />}</Fold>
    </>
  );
}

function Fold({ title, children }: { title: string; children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children()}
    </details>
  );
}

function Marketplaces({ onChosen }: { onChosen: OnChosen }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["marketplaces"], requests.marketplaces);
  const [source, setSource] = useState("");
  const work = useAction(async (step: () => Promise<unknown>) => {
    await step();
    await loaded.reload();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (source.trim() === "") return;
    void work.run(async () => {
      await requests.addMarketplace(source.trim());
      setSource("");
    });
  };
  return (
    <section className={styles.stack} aria-label={t("plugins.markets.title")}>
      <p className="hint">{t("plugins.markets.about")}</p>
      <Ready loaded={loaded}>
        {({ marketplaces }) => (
          <>
            {marketplaces.length === 0 && <p className={styles.nothing}>{t("plugins.markets.none")}</p>}
            <ul className={styles.cards}>
              {marketplaces.map((market) => (
                <Market
                  key={market.name}
                  market={market}
                  isBusy={work.busy}
                  onChosen={onChosen}
                  onUpdate={() => void work.run(() => requests.updateMarketplace(market.name))}
                  onRemove={() => void work.run(() => requests.removeMarketplace(market.name))}
                />
              ))}
            </ul>
          </>
        )}
      </Ready>
      <form className={styles.stack} noValidate onSubmit={submit} aria-label={t("plugins.markets.add")}>
        <Field label={t("plugins.markets.source")} hint={t("plugins.markets.sourceHint")}>
          {(id, describedBy) => (
            <input
              id={id}
              aria-describedby={describedBy}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder="github:owner/repository"
              value={source}
              onChange={(event) => setSource(event.target.value)}
            />
          )}
        </Field>
        <div className={styles.formEnd}>
          <button type="submit" disabled={work.busy}>
            {t("plugins.markets.add")}
          </button>
          <span role="status" className="hint">
            {work.busy && t("plugins.working")}
          </span>
        </div>
      </form>
      <Problem text={work.error} />
    </section>
  );
}

interface MarketProps {
  market: Marketplace;
  isBusy: boolean;
  onChosen: OnChosen;
  onUpdate: () => void;
  onRemove: () => void;
}

function Market({ market, isBusy, onChosen, onUpdate, onRemove }: MarketProps) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const name = plainly(market.name);
  return (
    <li className={styles.card}>
      <header>
        <h4>{name}</h4>
        <span className="hint" title={absolute(market.updated_at)}>
          {t("plugins.markets.read", { source: plainly(market.source), ago: relative(market.updated_at, now) })}
        </span>
      </header>
      {market.description !== "" && <p className={styles.asWritten}>{plainly(market.description)}</p>}
      <ul className={styles.stack}>
        {market.plugins.map((plugin) => (
          <Offer key={plugin.source} offer={plugin} about={plugin.category} onChosen={onChosen} />
        ))}
      </ul>
      <Problems problems={market.problems} />
      <div className={styles.actions}>
        <button type="button" className="quiet" disabled={isBusy} aria-label={t("plugins.markets.updateName", { name })} onClick={onUpdate}>
          {t("plugins.markets.update")}
        </button>
        <ConfirmButton
          label={t("remove")}
          name={t("plugins.removeName", { name })}
          question={t("plugins.markets.removeQuestion", { name })}
          confirmLabel={t("remove")}
          onConfirm={onRemove}
        />
      </div>
    </li>
  );
}

function Shelf({ onChosen }: { onChosen: OnChosen }) {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const requests = useRequests();
  const loaded = useLoaded(["shelf"], requests.shelf);
  const remove = useAction(async ({ owner, name }: ShelfPlugin) => {
    await requests.takeOffShelf(owner, name);
    await loaded.reload();
  });
  return (
    <section className={styles.stack} aria-label={t("plugins.shelf.title")}>
      <p className="hint">{t("plugins.shelf.about")}</p>
      <Ready loaded={loaded}>
        {({ plugins }) => (
          <>
            {plugins.length === 0 && <p className={styles.nothing}>{t("plugins.shelf.none")}</p>}
            <ul className={styles.stack}>
              {plugins.map((plugin) => (
                <Offer key={plugin.source} offer={plugin} about={plugin.own ? t("plugins.shelf.yours") : plainly(plugin.owner)} onChosen={onChosen} isOwn={plugin.own}>
                  {(plugin.own || me?.admin) && (
                    <ConfirmButton
                      label={t("plugins.shelf.remove")}
                      name={t("plugins.shelf.removeName", { name: plainly(plugin.source) })}
                      question={t("plugins.shelf.removeQuestion", { name: plainly(plugin.name) })}
                      confirmLabel={t("plugins.shelf.remove")}
                      onConfirm={() => void remove.run(plugin)}
                    />
                  )}
                </Offer>
              ))}
            </ul>
          </>
        )}
      </Ready>
      <Problem text={remove.error} />
    </section>
  );
}

interface OfferProps {
  offer: MarketplacePlugin | ShelfPlugin;
  /** The plugin's category, or the user who shares it. */
  about: string;
  onChosen: OnChosen;
  isOwn?: boolean;
  children?: ReactNode;
}

/** A plugin on offer. Its texts may not be trustworthy. */
function Offer({ offer, about, onChosen, isOwn = false, children }: OfferProps) {
  const { t } = useTranslation("settings");
  const state = offer.has_update ? t("plugins.newCopy") : offer.installed ? t("plugins.have") : "";
  return (
    <li className={styles.plain}>
      <p className={styles.asWritten}>
        <strong>{plainly(offer.name)}</strong> {plainly(offer.version)} {about !== "" && <span className="hint">{plainly(about)}</span>}{" "}
        {state !== "" && <span className={marks.badge}>{state}</span>}
      </p>
      {offer.description !== "" && <p className={styles.asWritten}>{plainly(offer.description)}</p>}
      <div className={styles.actions}>
        {!isOwn && (
          <button type="button" className="quiet" aria-label={t("plugins.lookAtName", { name: plainly(offer.source) })} onClick={() => onChosen(offer.source)}>
            {t("plugins.look")}
          </button>
        )}
        {children}
      </div>
    </li>
  );
}
