import { useTranslation } from "react-i18next";
import { useAppState } from "../../state/context";
import { isOffered } from "../../state/where";
import { AddRunner } from "./AddRunner";
import { ContainerCard } from "./ContainerCard";
import { RunnerCard } from "./RunnerCard";
import styles from "../settings.module.css";

export default function Runners() {
  const { t } = useTranslation("settings");
  const { runners, settings } = useAppState("runners", "settings");
  const docker = settings?.choices.find((choice) => choice.kind === "docker");
  return (
    <>
      <AddRunner />
      {runners.length === 0 && <p className={styles.nothing}>{t("runners.none")}</p>}
      <ul className={styles.cards}>
        {runners.map((runner) => (
          <RunnerCard key={runner.name} runner={runner} />
        ))}
      </ul>
      {docker !== undefined && isOffered(docker) && <ContainerCard choice={docker} />}
    </>
  );
}
