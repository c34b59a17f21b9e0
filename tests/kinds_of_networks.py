"""Networks of sources whose names ask for nothing but a row, one of each kind."""

# Name -> task and family; each is of a kind of its own.
CAPTURED = {
    "asteroid:ConvTasNet/wham": ("speech-separation", "conv_tasnet"),  # reads sizes from a tensor
    "asteroid:SuDORMRFNet/default": ("speech-separation", "sudo_rm_rf"),
    "braindecode:ShallowFBCSPNet": ("eeg-classification", "shallowfbcspnet"),
    "braindecode:SPARCNet": ("eeg-classification", "sparcnet"),
    "demucs:Demucs/v3": ("music-source-separation", "demucs"),
    "demucs:HTDemucs/htdemucs": ("music-source-separation", "demucs"),
    # Flat voxels.
    "dynamic_network_architectures:PlainConvUNet/prostate": (
        "medical-image-segmentation", "dynunet",
    ),
    "dynamic_network_architectures:ResidualEncoderUNet/2d_256": (
        "medical-image-segmentation", "residual_unet",
    ),
    "dynamic_network_architectures:VGG/16_cifar_3d": ("volume-classification", "vgg"),
    # Its biases are made redundant by its batch norms.
    "effdet:tf_efficientdet_d0": ("object-detection", "efficientdet"),
    "esm:ESM2/t6_8M": ("fill-mask", "esm"),  # asks whether any of its words is padding
    "esm:ProteinBertModel/esm1_t6_43M": ("fill-mask", "esm"),
    "esm:ProteinBertModel/esm1b_t33_650M": ("fill-mask", "esm"),
    "esm:MSATransformer/t12_100M": ("fill-mask", "msa_transformer"),
    "kornia:HardNet": ("keypoint-description", "hardnet"),
    "kornia:RRDBNet/x4": ("image-super-resolution", "esrgan"),
    "kornia:RTDETR/resnet18d": ("object-detection", "rt_detr"),  # from a record of settings
    "kornia:VisionTransformer/ti_16": ("image-feature-extraction", "vit"),
    "libmultilabel:KimCNN/rcv1": ("text-classification", "text_cnn"),
    "libmultilabel:XMLCNN/rcv1": ("text-classification", "xml_cnn"),
    "libmultilabel:CNNLWAN/EUR-Lex": ("text-classification", "caml"),
    "libmultilabel:BiGRULWAN/MIMIC-50": ("text-classification", "rnn_lwan"),
    "libmultilabel:AttentionXML_1/EUR-Lex": ("text-classification", "attentionxml"),
    "neuralop:FNO/small2d": ("operator-learning", "fno"),  # complex weights
    "neuralop:UNO/test": ("operator-learning", "uno"),
    "neuralop:CODANO/test": ("operator-learning", "codano"),
    "pypots:SAITS/imputation/ett_h1": ("time-series-imputation", "saits"),
    "pypots:BRITS/imputation/italyair": ("time-series-imputation", "brits"),  # read both ways
    "pypots:GRUD/classification": ("time-series-classification", "grud"),
    "pypots:PatchTST/anomaly_detection": ("anomaly-detection", "patchtst"),
    "pypots:VaDER/clustering": ("time-series-clustering", "vader"),
    "pypots:SegRNN/forecasting": ("time-series-forecasting", "segrnn"),
    # Their objective stands in the trace beside what is captured.
    "pythae:VAE/mlp_mnist": ("autoencoding", "vae"),
    "pythae:AE/conv_cifar": ("autoencoding", "autoencoder"),
    "pythae:VQVAE/resnet_mnist": ("autoencoding", "vqvae"),
    "pytorchvideo:X3D/xs": ("video-classification", "x3d"),
    "pytorchvideo:SlowFast/r50_8x8": ("video-classification", "slowfast"),  # two clips
    "pytorchvideo:MViT/b_16": ("image-classification", "mvit"),
    "rtdl_revisiting_models:MLP/california": ("tabular-prediction", "mlp"),
    "rtdl_revisiting_models:ResNet/california": ("tabular-prediction", "tabular_resnet"),
    "rtdl_revisiting_models:FTTransformer/adult_categories": (
        "tabular-prediction", "ft_transformer",
    ),
    "spandrel:Compact/x4": ("image-super-resolution", "srvgg"),
    "spandrel:DnCNN/gray": ("image-denoising", "dncnn"),
    "spandrel:LaMa": ("image-inpainting", "lama"),  # an image and a mask
    "spandrel:RealCUGAN/x3": ("image-super-resolution", "cunet"),  # a class of its own
    "stable_baselines3:ActorCritic/CartPole-v1": ("reinforcement-learning", "actor_critic"),
    "stable_baselines3:DQN/PongNoFrameskip-v4": ("reinforcement-learning", "dqn"),
    "stable_baselines3:TD3/Ant-v4": ("reinforcement-learning", "td3"),
    "supar:BiaffineDependencyModel/tag": ("dependency-parsing", "biaffine_parser"),
    "supar:CRFConstituencyModel": ("constituency-parsing", "biaffine_parser"),
    # Three lists of features.
    "supar:BiaffineSemanticDependencyModel": ("dependency-parsing", "biaffine_parser"),
    # Columns of numbers and of words apart.
    "torch_rechub:WideDeep": ("click-through-rate", "wide_and_deep"),
    # An embedding for each other field.
    "torch_rechub:DeepFFM": ("click-through-rate", "deepffm"),
    "torch_rechub:EDCN/concatenation": ("click-through-rate", "edcn"),
    "torch_rechub:PLE": ("click-through-rate", "ple"),  # several tasks
    "torchaudio:conv_tasnet_base": ("speech-separation", "conv_tasnet"),
    "torchaudio:wav2vec2_base": ("speech-feature-extraction", "wav2vec2"),
    "torchgan:ACGAN/generator_x32": ("image-generation", "acgan"),  # noise and a class
    "torchgan:DCGAN/discriminator_x64": ("image-classification", "dcgan"),
    "vit_pytorch:vit.ViT": ("image-classification", "vit"),
    "vit_pytorch:t2t.T2TViT": ("image-classification", "t2t_vit"),  # lists become tuples
    "vit_pytorch:simple_vit_3d.SimpleViT": ("video-classification", "simple_vit"),
    "vit_pytorch:vit_1d.ViT": ("time-series-classification", "vit"),
    # A transformer of x-transformers.
    "vit_pytorch:efficient.ViT": ("image-classification", "efficient"),
}  # fmt: skip
