import { useQuery } from "@tanstack/react-query";
import { Sparkles } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useActions } from "../../state/context";
import type { ChatDetails, ModelList } from "../../types";
import { type Choice, Picker } from "./Picker";

const DEFAULT = "";

interface Props {
  details: ChatDetails;
  onChange: (change: Partial<ChatDetails>) => void;
}

/** Chooses the model that answers in the chat. */
export function ModelPicker({ details, onChange }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  // Loaded whenever the menu opens; the previous list stays visible while it loads.
  const { data: list, refetch } = useQuery({ queryKey: ["models of a chat", details.id], queryFn: () => actions.models(details.id), enabled: false });
  const load = () => void refetch({ throwOnError: true }).catch(actions.report);
  const choose = async (value: string) => {
    try {
      const model = value === DEFAULT ? null : value;
      await actions.setModel(details.id, model);
      onChange({ model });
    } catch (error) {
      actions.report(error);
    }
  };
  const value = details.model ?? DEFAULT;
  return (
    <Picker
      name={t("model.label")}
      value={value}
      icon={<Sparkles aria-hidden="true" />}
      choices={choicesOf(list ?? null, value, { value: DEFAULT, label: t("model.default"), about: t("model.defaultAbout") })}
      onOpen={load}
      onChoose={(chosen) => void choose(chosen)}
    />
  );
}

function choicesOf(list: ModelList | null, chosen: string, byDefault: Choice): Choice[] {
  const models = (list?.models ?? []).flatMap((subscription) =>
    Object.entries(subscription.models).map(([tier, model]) => {
      return { value: `${subscription.name}/${tier}`, label: model.name, about: `${subscription.name} · ${tier}` };
    }),
  );
  const isListed = chosen === byDefault.value || models.some((choice) => choice.value === chosen);
  return [byDefault, ...(isListed ? [] : [{ value: chosen, label: chosen }]), ...models];
}
